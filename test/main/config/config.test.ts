import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { readConfigFiles } from "../../../src/main/config/configFiles.ts"
import { formatDiagnostic } from "../../../src/main/config/documents.ts"

/** A folder with these files for the lifetime of the scope. */
const folderWith = (files: { readonly [path: string]: string }) =>
  Effect.map(temporaryFolder, (folder) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true })
      writeFileSync(join(folder, path), text)
    }
    return folder
  })

/** Reads files of a temporary folder; formats diagnostics without the folder. */
const readFiles = Effect.fnUntraced(function* (files: { readonly [path: string]: string }) {
  const folder = yield* folderWith(files)
  const paths = Object.keys(files).filter((path) => path.endsWith(".json"))
  const loaded = yield* readConfigFiles(paths.map((path) => join(folder, path)))
  return {
    ...loaded,
    folder,
    printed: loaded.diagnostics.map((diagnostic) => formatDiagnostic(diagnostic).replaceAll(`${folder}/`, ""))
  }
})

const server = { type: "stdio", server_parameters: { command: "x" } }
const a2c = (name: string) => JSON.stringify({ servers: { [name]: server } })

describe("readConfigFiles", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("tells why a file cannot be read", () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({ file: "" })
        symlinkSync("loop", join(folder, "loop"))
        for (const [path, reason] of [
          ["", "is a directory"],
          ["absent", "file not found"],
          ["file/below", "file not found: a part of the path is a file"],
          ["loop", "cannot be read: it is a symbolic link to itself"],
          ["x".repeat(300), "cannot be read: the name is too long"]
        ] as const) {
          const { diagnostics } = yield* readConfigFiles([join(folder, path)])
          const issues = diagnostics.map(({ issue }) => issue)
          assert.deepStrictEqual(issues, [reason])
        }
      })
    )

    it.effect("reports a syntax error with line and column", () =>
      Effect.gen(function* () {
        const { printed, setup } = yield* readFiles({ "a.json": '{\n  "servers": {\n    "x" 1\n  }\n}' })
        assert.strictEqual(printed[0], "a.json:3:9: error: invalid JSON: colon expected")
        assert.isUndefined(setup)
      })
    )

    it.effect.each<readonly [what: string, text: string, reason: string]>([
      ["text that is not JSON", "servers: {}", "1:1: error: invalid JSON"],
      ["an empty file", " \n", "1:1: error: the file is empty"],
      ["an incomplete text", '{"servers":{', "1:13: error: invalid JSON: close brace expected"],
      ["an incomplete text after a comma", '{"servers":{},\n', "2:1: error: invalid JSON: property name expected"],
      [
        "the missing command of an empty entry in mcpServers",
        '{"mcpServers": {"s": {}}}',
        "1:17: error: mcpServers.s.command: Missing key"
      ],
      ["duplicate members", `{"servers": {\n"s": {},\n"s": {}\n}}`, "3:1: error: servers.s: duplicate key"],
      [
        "a missing environment file",
        '{"servers":{"s":{"command":"x","envFile":"none.env"}}}',
        "1:32: error: servers.s.envFile: none.env: file not found"
      ]
    ])("reports one error for %s", ([, text, reason]) =>
      Effect.gen(function* () {
        const { printed } = yield* readFiles({ "a.json": text })
        assert.deepStrictEqual(printed, [`a.json:${reason}`])
      })
    )

    it.effect("reports excessive nesting as an error", () =>
      Effect.gen(function* () {
        for (const open of ["[", '{"a":', '{"servers":{"a":[']) {
          const { printed, setup } = yield* readFiles({ "a.json": open.repeat(20_000) })
          assert.include(printed[0], "a.json:1:1: error: invalid JSON: nested too deep")
          assert.isUndefined(setup)
        }
      })
    )

    it.effect("locates errors in a long file", () =>
      Effect.gen(function* () {
        const { printed } = yield* readFiles({ "a.json": `{\n${'  "x" 1,\n'.repeat(3000)}}` })
        assert.strictEqual(printed[0], "a.json:2:7: error: invalid JSON: colon expected")
        assert.include(printed, "a.json:3001:7: error: invalid JSON: colon expected")
      })
    )

    it.effect("detects no dialect without servers", () =>
      Effect.gen(function* () {
        const { files } = yield* readFiles({ "a.json": "[]" })
        assert.deepStrictEqual(
          files.map(({ dialect }) => dialect),
          [undefined]
        )
      })
    )

    it.effect("accepts comments, trailing commas and a byte order mark", () =>
      Effect.gen(function* () {
        const text = `\u{feff}// mine\n{"servers": {"s": ${JSON.stringify(server)},},}`
        const { printed, setup } = yield* readFiles({ "a.json": text })
        assert.deepStrictEqual([printed, Object.keys(setup?.config.servers ?? {})], [[], ["s"]])
      })
    )

    it.effect("reports an error at its position, with the names of the file's dialect", () =>
      Effect.gen(function* () {
        const { printed } = yield* readFiles({
          "a.json": '{"mcpServers": {\n  "s": {"command": "x", "type": "telnet"}\n}}'
        })
        assert.match(printed[0] ?? "", /^a\.json:2:25: error: mcpServers\.s\.type: /)
      })
    )

    it.effect("warns of unknown fields", () =>
      Effect.gen(function* () {
        const { printed, setup } = yield* readFiles({
          "a.json": '{"servers": {\n  "s": {"command": "x", "colour": 1}\n}}'
        })
        assert.deepStrictEqual(printed, ["a.json:2:25: warning: servers.s.colour: unknown field, ignored"])
        assert.isDefined(setup)
      })
    )

    it.effect("merges files in their order", () =>
      Effect.gen(function* () {
        const { setup } = yield* readFiles({ "a.json": a2c("one"), "b.json": a2c("two") })
        assert.deepStrictEqual(Object.keys(setup?.config.servers ?? {}), ["one", "two"])
      })
    )

    it.effect("reports a conflict with both files", () =>
      Effect.gen(function* () {
        const { printed, setup, folder } = yield* readFiles({ "a.json": a2c("s"), "b.json": a2c("s") })
        assert.deepStrictEqual(
          printed.map((text) => text.replace(folder, "")),
          ['b.json:1:13: error: servers.s: server "s" is also defined in a.json']
        )
        assert.isUndefined(setup)
      })
    )

    it.effect("reports a missing file, and reads the others", () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({ "a.json": a2c("s") })
        const { files, diagnostics } = yield* readConfigFiles([join(folder, "a.json"), join(folder, "b.json")])
        const issues = diagnostics.map(({ issue }) => issue)
        assert.deepStrictEqual(issues, ["file not found"])
        assert.isDefined(files[0]?.config)
      })
    )

    it.effect("uses the parent of an editor's folder as workspace", () =>
      Effect.gen(function* () {
        const text = JSON.stringify({ servers: { s: { command: "x" } } })
        const { folder, setup } = yield* readFiles({ ".vscode/mcp.json": text })
        assert.strictEqual(setup?.variables["s"]?.["workspaceFolder"], folder)
        assert.strictEqual(setup?.variables["s"]?.["userHome"], homedir())
        assert.strictEqual(setup?.config.servers["s"]?.parameters["cwd"], "${workspaceFolder}")
      })
    )

    it.effect("passes variables of an environment file as placeholders, with hidden values", () =>
      Effect.gen(function* () {
        const text = JSON.stringify({
          servers: { s: { command: "x", env: { KEY: "own" }, envFile: "${workspaceFolder}/.env" } }
        })
        const { setup, sources } = yield* readFiles({ "mcp.json": text, ".env": 'TOKEN="abc"\nKEY=theirs\n' })
        assert.deepStrictEqual(setup?.config.servers["s"]?.parameters["env"], {
          KEY: "own",
          TOKEN: "${envFile:TOKEN}"
        })
        const token = setup?.variables["s"]?.["envFile:TOKEN"]
        assert.strictEqual(Redacted.isRedacted(token) ? Redacted.value(token) : token, "abc")
        assert.notInclude(JSON.stringify(setup), "abc")
        assert.lengthOf(sources, 2)
      })
    )
  })
})
