import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { homedir, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { readConfigFiles, formatDiagnostic } from "../../../src/main/config/configFiles.ts"

/** A folder with these files, as long as the scope. */
const folderWith = (files: { readonly [path: string]: string }) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const folder = mkdtempSync(join(tmpdir(), "a2c-config-"))
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true })
        writeFileSync(join(folder, path), text)
      }
      return folder
    }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  )

/** Reads files of a folder that holds them alone; findings without the folder. */
const readFiles = Effect.fnUntraced(function* (files: { readonly [path: string]: string }) {
  const folder = yield* folderWith(files)
  const paths = Object.keys(files).filter((path) => path.endsWith(".json"))
  const loaded = yield* readConfigFiles(paths.map((path) => join(folder, path)))
  return {
    ...loaded,
    folder,
    said: loaded.diagnostics.map((diagnostic) => formatDiagnostic(diagnostic).replaceAll(`${folder}/`, ""))
  }
})

const server = { type: "stdio", server_parameters: { command: "x" } }
const a2c = (name: string) => JSON.stringify({ servers: { [name]: server } })

describe("configuration files", () => {
  layer(NodeServices.layer)((it) => {
    it.effect("a syntax error is told with its line and column", () =>
      Effect.gen(function* () {
        const { said, setup } = yield* readFiles({ "a.json": '{\n  "servers": {\n    "x" 1\n  }\n}' })
        assert.strictEqual(said[0], "a.json:3:9: error: invalid JSON: colon expected")
        assert.isUndefined(setup)
      })
    )

    it.effect("a text that is no JSON at all is told apart from an empty file", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({ "a.json": "servers: {}", "b.json": " \n" })
        assert.deepStrictEqual(said, ["a.json:1:1: error: invalid JSON", "b.json:1:1: error: the file is empty"])
      })
    )

    it.effect("a text that ends too soon is one fault, however many levels are open", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({ "a.json": '{"servers":{' })
        assert.deepStrictEqual(said, ["a.json:1:13: error: invalid JSON: close brace expected"])
        const { said: afterComma } = yield* readFiles({ "a.json": '{"servers":{},\n' })
        assert.deepStrictEqual(afterComma, ["a.json:2:1: error: invalid JSON: property name expected"])
      })
    )

    it.effect("a file that is nested without end is a fault like any other", () =>
      Effect.gen(function* () {
        for (const open of ["[", '{"a":', '{"servers":{"a":[']) {
          const { said, setup } = yield* readFiles({ "a.json": open.repeat(20_000) })
          assert.include(said[0], "a.json:1:1: error: invalid JSON: nested too deep")
          assert.isUndefined(setup)
        }
      })
    )

    it.effect("faults are found in their lines, however many there are", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({ "a.json": `{\n${'  "x" 1,\n'.repeat(3000)}}` })
        assert.strictEqual(said[0], "a.json:2:7: error: invalid JSON: colon expected")
        assert.include(said, "a.json:3001:7: error: invalid JSON: colon expected")
      })
    )

    it.effect("a folder is told apart from a file that cannot be read", () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({})
        const { diagnostics } = yield* readConfigFiles([folder])
        assert.deepStrictEqual(
          diagnostics.map(({ issue }) => issue),
          ["is a directory"]
        )
      })
    )

    it.effect("what holds no servers is in no dialect", () =>
      Effect.gen(function* () {
        const { files } = yield* readFiles({ "a.json": "[]" })
        assert.deepStrictEqual(
          files.map(({ dialect }) => dialect),
          [undefined]
        )
      })
    )

    it.effect("an entry of mcpServers with nothing in it lacks a command", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({ "a.json": '{"mcpServers": {"s": {}}}' })
        assert.deepStrictEqual(said, ["a.json:1:17: error: mcpServers.s.command: Missing key"])
      })
    )

    it.effect("comments, trailing commas and a byte order mark are fine", () =>
      Effect.gen(function* () {
        const text = `\u{feff}// mine\n{"servers": {"s": ${JSON.stringify(server)},},}`
        const { said, setup } = yield* readFiles({ "a.json": text })
        assert.deepStrictEqual([said, Object.keys(setup?.config.servers ?? {})], [[], ["s"]])
      })
    )

    it.effect("a member that stands twice is an error: one of the two would be lost", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({ "a.json": `{"servers": {\n"s": {},\n"s": {}\n}}` })
        assert.deepStrictEqual(said, ["a.json:3:1: error: servers.s: duplicate key"])
      })
    )

    it.effect("a fault is told where it stands, in the words of the file's own dialect", () =>
      Effect.gen(function* () {
        const { said } = yield* readFiles({
          "a.json": '{"mcpServers": {\n  "s": {"command": "x", "type": "telnet"}\n}}'
        })
        assert.match(said[0] ?? "", /^a\.json:2:25: error: mcpServers\.s\.type: /)
      })
    )

    it.effect("unknown fields are reported and do no harm", () =>
      Effect.gen(function* () {
        const { said, setup } = yield* readFiles({
          "a.json": '{"servers": {\n  "s": {"command": "x", "colour": 1}\n}}'
        })
        assert.deepStrictEqual(said, ["a.json:2:25: warning: servers.s.colour: unknown field, ignored"])
        assert.isDefined(setup)
      })
    )

    it.effect("files are put together in their order", () =>
      Effect.gen(function* () {
        const { setup } = yield* readFiles({ "a.json": a2c("one"), "b.json": a2c("two") })
        assert.deepStrictEqual(Object.keys(setup?.config.servers ?? {}), ["one", "two"])
      })
    )

    it.effect("a clash names both files", () =>
      Effect.gen(function* () {
        const { said, setup, folder } = yield* readFiles({ "a.json": a2c("s"), "b.json": a2c("s") })
        assert.deepStrictEqual(
          said.map((text) => text.replace(folder, "")),
          ['b.json:1:13: error: servers.s: server "s" is also defined in a.json']
        )
        assert.isUndefined(setup)
      })
    )

    it.effect("a file that is not there is an error, the others are read all the same", () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({ "a.json": a2c("s") })
        const { files, diagnostics } = yield* readConfigFiles([
          join(folder, "a.json"),
          join(folder, "b.json")
        ])
        assert.deepStrictEqual(
          diagnostics.map(({ issue }) => issue),
          ["file not found"]
        )
        assert.isDefined(files[0]?.config)
      })
    )

    it.effect("the workspace of an editor's file is the folder above the editor's own", () =>
      Effect.gen(function* () {
        const text = JSON.stringify({ servers: { s: { command: "x" } } })
        const { folder, setup } = yield* readFiles({ ".vscode/mcp.json": text })
        assert.strictEqual(setup?.variables["s"]?.["workspaceFolder"], folder)
        assert.strictEqual(setup?.variables["s"]?.["userHome"], homedir())
        assert.strictEqual(setup?.config.servers["s"]?.parameters["cwd"], "${workspaceFolder}")
      })
    )

    it.effect("variables of a file reach the server as placeholders, their values stay hidden", () =>
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

    it.effect("a file of variables that is missing is an error at its place", () =>
      Effect.gen(function* () {
        const text = JSON.stringify({ servers: { s: { command: "x", envFile: "none.env" } } })
        const { said } = yield* readFiles({ "mcp.json": text })
        const issue = "none.env: file not found"
        assert.deepStrictEqual(said, [`mcp.json:1:32: error: servers.s.envFile: ${issue}`])
      })
    )
  })
})
