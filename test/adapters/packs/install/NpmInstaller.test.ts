import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import * as NodeLoader from "../../../../src/adapters/packs/NodePackLoader.ts"
import * as NpmInstaller from "../../../../src/adapters/packs/install/NpmInstaller.ts"
import { PackInstaller } from "../../../../src/application/ports/packs/PackInstaller.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { callOf, load, sourceOf, write } from "../packs.ts"
import { liveWith } from "../../../testWith.ts"

const silent = () => Effect.void

const install = (folder: string, packages: ReadonlyArray<string>, options: NpmInstaller.NpmOptions = {}) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const installer = yield* PackInstaller
    yield* installer.install({ folder, language: "node", packages }, (line) => Effect.sync(() => lines.push(line)))
    return lines
  }).pipe(Effect.provide(NpmInstaller.layer(options).pipe(Layer.provide(NodeServices.layer))))

const reject = (folder: string, packages: ReadonlyArray<string>) =>
  PackInstaller.use((installer) => installer.install({ folder, language: "node", packages }, silent)).pipe(
    Effect.provide(NpmInstaller.layerWithoutInstall)
  )

/** An archive of the registry; its install script would write a file. */
const archive = Effect.fnUntraced(function* (folder: string) {
  const content = {
    name: "tiny",
    version: "1.2.3",
    type: "module",
    exports: "./index.js",
    scripts: { postinstall: "touch ran" }
  }
  yield* write(folder, {
    "package/package.json": JSON.stringify(content),
    "package/index.js": "export const tiny = 'tiny'"
  })
  execFileSync("tar", ["-czf", "tiny.tgz", "package"], { cwd: folder })
  return `tiny@file:${join(folder, "tiny.tgz")}`
})

/** A program instead of npm. */
const program = Effect.fnUntraced(function* (folder: string, script: string) {
  const command = join(folder, "npm.sh")
  yield* write(folder, { "npm.sh": `#!/bin/sh\n${script}\n` })
  chmodSync(command, 0o755)
  return command
})

const live = liveWith(temporaryFolder)

describe("npm installer", () => {
  it.live(
    "installs into the folder of a pack, once, without install scripts",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const spec = yield* archive(folder)
        const pack = join(folder, "pack")
        yield* write(pack, {
          "a_tool.ts": `import { defineTool } from "a2c-smcp/tools"
          import { tiny } from "tiny"
          export default defineTool({ name: "a", description: "A", params: {}, run: () => tiny })`
        })
        const loader = NodeLoader.layer
        const missing = yield* Effect.flip(load(sourceOf(pack, "a_tool.ts"))).pipe(Effect.provide(loader))
        assert.match(missing.message, /Cannot find package 'tiny'/)

        const lines = yield* install(pack, [spec])
        assert.match(lines.join("\n"), /added 1 package/)
        const { call } = yield* load(sourceOf(pack, "a_tool.ts")).pipe(Effect.provide(loader))
        assert.deepStrictEqual((yield* call(callOf("a", {})))["content"], [{ type: "text", text: "tiny" }])
        assert.isTrue(existsSync(join(pack, "package-lock.json")))
        assert.isFalse(existsSync(join(pack, "node_modules", "tiny", "ran")))

        assert.deepStrictEqual(yield* install(pack, [spec], { command: "no-such-program" }), [])
        yield* reject(pack, ["tiny@^1.0.0", "tiny@1.2.3"])
      }),
    180_000
  )

  it.live(
    "keeps the package.json of a pack",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const spec = yield* archive(folder)
        const pack = join(folder, "pack")
        const own = '{ "name": "mine", "dependencies": {} }'
        yield* write(pack, { "package.json": own })
        yield* install(pack, [spec], { allowScripts: true })
        assert.strictEqual(readFileSync(join(pack, "package.json"), "utf8"), own)
        assert.isFalse(existsSync(join(pack, "package-lock.json")))
        assert.isTrue(existsSync(join(pack, "node_modules", "tiny", "ran")))
      }),
    180_000
  )

  live("reports a failure in one line", function* (folder) {
    const { message } = yield* Effect.flip(install(folder, ["tiny@file:no-such.tgz"]))
    assert.match(message, /^ENOENT: no such file or directory, open '[^;]*no-such\.tgz'$/)
  })

  live("reports the message of the registry", function* (folder) {
    const command = yield* program(
      folder,
      `cat >&2 <<'END'
npm http fetch GET 404 https://registry.example/tiny 10ms
npm error code E404
npm error 404 Not Found - GET https://registry.example/tiny - Not found
npm error 404
npm error 404  The requested resource 'tiny@9' could not be found
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log
END
exit 1`
    )
    const { message } = yield* Effect.flip(install(folder, ["tiny@9"], { command }))
    assert.strictEqual(
      message,
      "Not Found - GET https://registry.example/tiny - Not found; The requested resource 'tiny@9' could not be found"
    )
    assert.deepStrictEqual((yield* Effect.flip(reject(folder, ["tiny@9"])))._tag, "PackInstallError")
  })

  live("kills npm and its child processes after the timeout", function* (folder) {
    const command = yield* program(folder, "trap '' TERM\nsleep 300 & echo $!\nwait")
    const lines: Array<string> = []
    const outcome = yield* PackInstaller.use((installer) =>
      installer.install({ folder, language: "node", packages: ["tiny"] }, (line) => Effect.sync(() => lines.push(line)))
    ).pipe(
      Effect.provide(NpmInstaller.layer({ command, timeout: "300 millis" }).pipe(Layer.provide(NodeServices.layer))),
      Effect.flip
    )
    assert.match(outcome.message, /timed out after 300ms$/)
    const isGone = Effect.try(() => process.kill(Number(lines[0]), 0)).pipe(Effect.flip)
    yield* Effect.retry(isGone, Schedule.spaced("20 millis")).pipe(Effect.timeout("30 seconds"))
  })

  live("reports a missing npm", function* (folder) {
    const { message } = yield* Effect.flip(install(folder, ["tiny"], { command: "no-such-program" }))
    assert.strictEqual(message, "no-such-program cannot be started: is it installed?")
  })

  live("does nothing without packages", function* (folder) {
    assert.deepStrictEqual(yield* install(folder, [], { command: "no-such-program" }), [])
    assert.isFalse(existsSync(join(folder, "package.json")))
  })

  live("explains what to do when installation is disabled", function* (folder) {
    yield* write(folder, { "node_modules/tiny/package.json": '{ "version": "1.0.0" }' })
    yield* reject(folder, ["tiny@1.0.0"])
    const { message } = yield* Effect.flip(reject(folder, ["tiny@2.0.0"]))
    assert.match(message, /^missing packages: tiny@2\.0\.0\. Installation is disabled: /)
  })
})
