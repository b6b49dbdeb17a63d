import { mcpServerListCodec } from "../../../src/domain/model/messages/mcp.ts"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import {
  defaultLine,
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

describe("a tool on the wire", () => {
  const tool = { name: "files__read", bundleId: "files", description: "", paramsSchema: {}, returnSchema: null }
  const encode = (name: "0.2" | "0.3") =>
    lineNamed(name).calls.getTools.reply.encode({ tools: [tool], reqId: "r" }) as {
      readonly tools: ReadonlyArray<object>
    }

  it("has its bundle id from 0.3 on", () => {
    assert.notProperty(encode("0.2").tools[0], "bundle_id")
    assert.propertyVal(encode("0.3").tools[0], "bundle_id", "files")
  })

  it("is rejected without a bundle id from 0.3 on", () => {
    const wire = encode("0.2")
    assert.isTrue(Result.isSuccess(lineNamed("0.2").calls.getTools.reply.decode(wire)))
    const rejected = lineNamed("0.3").calls.getTools.reply.decode(wire)
    assert.include(Result.getOrThrow(Result.flip(rejected)), "bundle_id")
  })
})

describe("a list of another implementation", () => {
  const { getDesktop, getResources, getSkills, getTools } = lineNamed("0.2").calls
  const tool = { name: "a", description: "A", params_schema: {}, return_schema: null, meta: {} }
  const decoded = (reply: object) => Result.getOrThrow(getTools.reply.decode({ ...reply, req_id: "r" }))

  it.each([
    ["a description that is null", { description: null }, { description: "" }],
    ["parameters that are null", { params_schema: null }, { paramsSchema: {} }],
    ["parameters that are a list", { params_schema: [] }, { paramsSchema: {} }],
    ["a schema of results that is a number", { return_schema: 5 }, { returnSchema: null }]
  ] as const)("keeps a tool with %s", (_case, odd, expected) => {
    const { omitted, tools } = decoded({ tools: [tool, { ...tool, ...odd, name: "b" }] }) as ReturnType<
      typeof decoded
    > & { readonly omitted?: unknown }
    assert.deepInclude(tools[1], { name: "b", ...expected })
    assert.deepStrictEqual([tools.length, omitted], [2, undefined])
  })

  it("keeps a tool with metadata that is a text", () => {
    const { tools } = decoded({ tools: [{ ...tool, meta: "x" }] })
    assert.notProperty(tools[0], "meta")
  })

  it.each([null, 5, {}, { ...tool, name: 5 }])("leaves out the tool %j alone, with the reason", (odd) => {
    const reply = decoded({ tools: [tool, odd, { ...tool, name: "b" }] })
    assert.deepStrictEqual(
      reply.tools.map(({ name }) => name),
      ["a", "b"]
    )
    assert.lengthOf((reply as { readonly omitted?: ReadonlyArray<string> }).omitted ?? [], 1)
  })

  it("leaves out odd resources, skills and windows alone", () => {
    const resources = getResources.reply.decode({ resources: [5, { uri: "a" }], req_id: "r" })
    assert.deepStrictEqual(Result.getOrThrow(resources).resources, [{ uri: "a" }])
    const desktops = getDesktop.reply.decode({ desktops: [null, "window"], req_id: "r" })
    assert.deepStrictEqual(Result.getOrThrow(desktops).desktops, ["window"])
    assert.isTrue(Result.isFailure(getSkills.reply.decode({ skills: [null], req_id: "r" })))
  })

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
  const parameters = { command: "x" }
  const config = Result.getOrThrow(
    defaultLine.calls.getConfig.reply.decode({
      servers: {
        one: { name: "My Server", type: "stdio", server_parameters: parameters },
        two: { name: "My Server", type: "stdio", server_parameters: parameters, bundle_id: "second" },
        three: { name: "three", type: "stdio", server_parameters: parameters, bundle_id: "My_Server" }
      }
    })
  )
  const serversOf = (name: "0.2" | "0.3") => {
    const { servers } = lineNamed(name).calls.getConfig.reply.encode(config) as {
      readonly servers: { readonly [key: string]: { readonly name: string; readonly bundle_id?: string } }
    }
    return Object.entries(servers).map(([key, server]) => [key, server.name, server.bundle_id])
  }

  it("has servers by their unique names on 0.2", () => {
    assert.deepStrictEqual(serversOf("0.2"), [
      ["one", "one", undefined],
      ["two", "two", undefined],
      ["three", "three", undefined]
    ])
  })

  it("has servers by their bundle ids from 0.3 on, of equal ones the first", () => {
    assert.deepStrictEqual(serversOf("0.3"), [
      ["My_Server", "My Server", "My_Server"],
      ["second", "My Server", "second"]
    ])
  })

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

  it("is read with fields of these names that another implementation sends", () => {
    const server = { name: "s", type: "stdio", server_parameters: parameters, lifecycle: 3, idle: false }
    const read = Result.getOrThrow(defaultLine.calls.getConfig.reply.decode({ servers: { s: server } }))
    assert.notProperty(read.servers["s"], "idle")
  })
})

describe("a resource on the wire", () => {
  const resource = {
    uri: "file:///a",
    mimeType: "text/plain",
    annotations: { lastModified: "2026-01-01", priority: 1 }
  }
  const { reply } = defaultLine.calls.getResources

  it("has the names of MCP and those of published peers", () => {
    const wire = reply.encode({ resources: [resource], reqId: "r" }) as { readonly resources: ReadonlyArray<unknown> }
    assert.deepStrictEqual(wire.resources, [
      {
        ...resource,
        mime_type: "text/plain",
        annotations: { ...resource.annotations, last_modified: "2026-01-01" }
      }
    ])
  })

  it("is read with either names", () => {
    const wire = {
      uri: "file:///a",
      mime_type: "text/plain",
      annotations: { last_modified: "2026-01-01", priority: 1 }
    }
    for (const form of [wire, resource, { ...wire, ...resource }]) {
      const decoded = Result.getOrThrow(reply.decode({ resources: [form], req_id: "r" }))
      assert.deepStrictEqual(decoded.resources, [resource])
    }
  })
})

describe("an error about an MCP server on the wire", () => {
  it("has the code and the name of its line", () => {
    const error = Result.getOrThrow(
      Result.fromNullishOr(
        defaultLine.decodeProtocolError({ code: 4014, message: "m", mcp_server: "files" }),
        () => "no error"
      )
    )
    assert.deepStrictEqual(lineNamed("0.2").encodeProtocolError(error), {
      code: 404,
      message: "m",
      mcp_server_name: "files"
    })
    assert.deepStrictEqual(lineNamed("0.3").encodeProtocolError(error), {
      code: 4014,
      message: "m",
      mcp_server: "files"
    })
  })

  it("is read in every form", () => {
    for (const wire of [
      { code: 404, message: "m", mcp_server_name: "files" },
      { code: 4014, message: "m", mcp_server_name: "files" },
      { code: 4014, message: "m", mcp_server: "files" }
    ]) {
      const error = defaultLine.decodeProtocolError(wire)
      assert.deepStrictEqual([error?.code, error?.extra], [4014, { mcp_server: "files" }])
    }
  })

  it("keeps the code of an unknown skill", () => {
    const wire = { code: 4014, message: "m", details: { name: "skill" } }
    const error = defaultLine.decodeProtocolError(wire)
    assert.strictEqual(error?.code, 4014)
    assert.deepStrictEqual(error && lineNamed("0.2").encodeProtocolError(error), wire)
  })
})
