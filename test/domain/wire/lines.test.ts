import { mcpServerListCodec } from "../../../src/domain/model/messages/mcp.ts"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import {
  formatMismatch,
  lineForVersion,
  lineNamed,
  lineNames,
  linesNamed,
  linesWithin,
  parseLineNames,
  PROTOCOL_VERSION,
  routedEvents
} from "../../../src/domain/wire/lines.ts"
import { formatVersion, parseVersion, type VersionMismatch } from "../../../src/domain/wire/version.ts"

const mismatch = (min_supported: string, max_supported: string): VersionMismatch => ({
  code: 4008,
  message: "Protocol version mismatch",
  server_version: max_supported,
  client_version: "0.2.0",
  min_supported,
  max_supported
})

const namesOf = (lines: ReadonlyArray<{ readonly name: string }>) => lines.map(({ name }) => name)

describe("protocol lines", () => {
  it("chooses a line by the minor of a version", () => {
    const chosen = ["0.2.0", "0.2.7", "0.3.0", "0.3.1", "0.4.2"].map(
      (text) => lineForVersion(Result.getOrThrow(parseVersion(text))).name
    )
    assert.deepStrictEqual(chosen, ["0.2", "0.2", "0.3", "0.3", "0.4"])
  })

  it("takes the newest line for a version of a later one", () => {
    assert.strictEqual(lineForVersion({ major: 0, minor: 9, patch: 0 }).name, "0.4")
  })

  it("announces the version of a line", () => {
    for (const name of lineNames) assert.match(formatVersion(lineNamed(name).version), new RegExp(`^${name}\\.\\d+$`))
    assert.strictEqual(PROTOCOL_VERSION, "0.2.0")
  })

  it("selects lines oldest first, in any order of their names", () => {
    assert.deepStrictEqual(namesOf(linesNamed(["0.4", "0.2"])), ["0.2", "0.4"])
    assert.deepStrictEqual(namesOf(linesNamed()), [...lineNames])
  })

  it("parses names with commas in between", () => {
    assert.deepStrictEqual(parseLineNames("0.2, 0.4"), ["0.2", "0.4"])
    for (const text of ["", "0.5", "0.2,", "0.2 0.3"]) assert.isUndefined(parseLineNames(text), text)
  })

  it("names the lines that work after a rejection", () => {
    assert.deepStrictEqual(namesOf(linesWithin(mismatch("0.3.0", "0.4.999"))), ["0.4", "0.3"])
    assert.include(formatMismatch(mismatch("0.3.0", "0.4.999")), "use the protocol 0.3 or 0.4")
    assert.deepStrictEqual(linesWithin(mismatch("?", "0.4.999")), [])
    assert.notInclude(formatMismatch(mismatch("0.7.0", "0.7.999")), "use the protocol")
  })

  it("has different keys for one office id, and on 0.2 the id itself", () => {
    const keys = lineNames.map((name) => lineNamed(name).officeKey("demo"))
    assert.strictEqual(new Set(keys).size, lineNames.length)
    assert.strictEqual(lineNamed("0.2").officeKey("demo"), "demo")
  })

  it("routes skills and blobs on all lines, and uploads on 0.4", () => {
    for (const event of ["client:get_skills", "client:get_skill", "client:get_blob", "client:put_blob"]) {
      assert.isTrue(routedEvents.has(event), event)
    }
    assert.deepStrictEqual(
      lineNames.filter((name) => lineNamed(name).calls.putBlob !== undefined),
      ["0.4"]
    )
  })

  it("finds the update of skills", () => {
    for (const name of lineNames) {
      assert.strictEqual(lineNamed(name).findEventDefinition("server:update_skills")?.kind, "update")
    }
  })
})

describe("a list of another implementation", () => {
  it("leaves out odd MCP servers and tools alone", () => {
    const server = { id: "s", implementation: {}, tools: [], prompts: [], templates: [], completions: false }
    const odd = {
      ...server,
      instructions: 5,
      implementation: null,
      prompts: [null, { name: "p" }],
      tools: [{}, { name: "t" }]
    }
    const { servers } = Result.getOrThrow(mcpServerListCodec.decode({ servers: [server, { id: 5 }, odd] }))
    assert.deepStrictEqual(
      servers.map(({ prompts, tools }) => [prompts.length, tools]),
      [
        [0, []],
        [1, [{ name: "t", details: {} }]]
      ]
    )
  })
})

describe("a configuration on the wire", () => {
  it("has no keys that only its Computer reads", () => {
    const lazy = Result.getOrThrow(
      parseComputerConfig({ servers: { s: { command: "x", lifecycle: "lazy", idle: "5m" } } })
    )
    for (const name of lineNames) {
      const wire = JSON.stringify(lineNamed(name).calls.getConfig.reply.encode(lazy))
      assert.notInclude(wire, "lifecycle")
      assert.notInclude(wire, "idle")
    }
  })
})
