import { readFileSync, writeFileSync } from "node:fs"
import { join, posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { cli, node } from "../processes.ts"

/** What a source file loads at once: imports without those of types, and without those that a command makes when it runs. */
const importedBy = (file: string): ReadonlyArray<string> =>
  [
    ...readFileSync(join("src", file), "utf8").matchAll(
      /^(?:import|export)\s+(?!type\b)(?:[^"]*?\sfrom\s+)?"([^"]+)"/gm
    )
  ]
    .map(([, target = ""]) => target)
    .map((target) => (target.startsWith(".") ? posix.join(posix.dirname(file), target) : target))

/** All files and packages that an entry loads at once. */
const loadedBy = (entry: string): ReadonlySet<string> => {
  const loaded = new Set([entry])
  for (const file of loaded) if (file.endsWith(".ts")) for (const target of importedBy(file)) loaded.add(target)
  return loaded
}

/** The text of a file of the bundled command, and of all that it loads at once. */
const bundledText = (file: string, read = new Set<string>()): string => {
  if (read.has(file)) return ""
  read.add(file)
  const text = readFileSync(file, "utf8")
  const imports = [...text.matchAll(/^(?:\} from|import) "(\.[^"]+)";$/gm)].map(([, path = ""]) =>
    join(file, "..", path)
  )
  return [text, ...imports.map((path) => bundledText(path, read))].join("\n")
}

/** The names of the modules of Node that a Server without members has loaded. */
const serverModules = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const report = join(folder, "report.cjs")
  writeFileSync(report, 'process.on("exit", () => console.error("loaded " + process.moduleLoadList.join()))')
  const server = yield* node(["--require", report, cli, "server", "--port", "0"])
  yield* server.prints("office page at")
  yield* server.signal("SIGTERM")
  yield* server.ended
  return /^loaded .*NativeModule http,.*$/m.exec(server.stderr())?.[0].split(",") ?? []
}).pipe(Effect.scoped)

describe("the start of a2c", () => {
  it.effect("loads neither TLS nor the crypto of Node for a Server without members", () =>
    Effect.gen(function* () {
      const modules = yield* serverModules
      assert.include(modules, "NativeModule http")
      assert.deepStrictEqual(
        modules.filter((name) => /^NativeModule (?:crypto|https|tls)$/.test(name)),
        []
      )
    })
  )

  it("loads no package before Node keeps compiled code", () => {
    const packages = [...loadedBy("main/cli/a2c.ts")].filter((name) => !/\.ts$|^node:/.test(name))
    assert.deepStrictEqual(packages, [])
  })

  it("loads all of effect for packs only", () => {
    const [without, all] = ["run.js", "runWithPacks.js"].map((file) => bundledText(join(cli, "..", file)).length)
    assert.isBelow(without ?? 0, (all ?? 0) * 0.8)
  })

  it("loads no part of a Server for a command of an Agent", () => {
    const loaded = [...loadedBy("main/cli/agent/actions.ts")]
    assert.include(loaded, "adapters/socketio/client/SocketIoClient.ts")
    assert.deepStrictEqual(
      loaded.filter((name) => /^adapters\/socketio\/(?!client|\w+\.ts)|^(engine\.io|ws)$/.test(name)),
      []
    )
  })
})
