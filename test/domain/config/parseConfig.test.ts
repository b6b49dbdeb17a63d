import { assert, describe, it } from "@effect/vitest"
import { Duration, Result, Schema } from "effect"
import { parseComputerConfig, parseConfig } from "../../../src/domain/config/parseConfig.ts"
import {
  validateInputValue,
  defaultInputValue,
  inputEnvironmentNames,
  inputVariableName
} from "../../../src/domain/config/inputValues.ts"
import {
  maxRenderDepth,
  findPlaceholders,
  parsePlaceholder,
  renderPlaceholders
} from "../../../src/domain/config/placeholders.ts"
import { ComputerConfig, type Input } from "../../../src/domain/config/computerConfig.ts"
import { decodeEndpoint } from "../../../src/domain/config/endpointParameters.ts"
import { plainServer } from "./plainServer.ts"

const encode = Schema.encodeSync(ComputerConfig)
const loaded = (value: unknown) => Result.getOrThrow(parseComputerConfig(value))
const errorOf = (value: unknown) => Result.getOrThrow(Result.flip(parseComputerConfig(value)))
const oneServer = (type: string, server_parameters: object, more: object = {}) => ({
  servers: { s: { type, server_parameters, ...more } }
})
const withStdio = (more: object) => oneServer("stdio", { command: "x" }, more)
const written = (type: string, parameters: object, more: object = {}) =>
  encode(loaded(oneServer(type, parameters, more))).servers["s"]

const input = { type: "promptString", id: "a", description: "" }

describe("parseComputerConfig", () => {
  it("reads when a server runs, in every dialect", () => {
    const lazy = { lifecycle: "lazy", idle: "90s" } as const
    const flat = { s: { command: "x", ...lazy } }
    for (const config of [withStdio(lazy), { servers: flat }, { mcpServers: flat }]) {
      assert.include(loaded(config).servers["s"], lazy)
      assert.deepStrictEqual(parseConfig(config).warnings, [])
      assert.include(encode(loaded(config)).servers["s"], lazy)
    }
    assert.notProperty(loaded(withStdio({ lifecycle: null })).servers["s"], "lifecycle")
  })

  it("names the place of an unknown lifecycle and of an invalid idle time", () => {
    assert.match(errorOf(withStdio({ lifecycle: "sometimes" })), /^servers\.s\.lifecycle: /)
    for (const idle of ["5", "0s", "5 minutes", "-1m", "8d", "", 5]) {
      assert.match(errorOf(withStdio({ idle })), /^servers\.s\.idle: /)
    }
    for (const idle of ["1s", "7d", "168h"]) loaded(withStdio({ idle }))
  })

  it("cases 193 and 195: completes a stdio server from its command", () => {
    assert.deepStrictEqual(written("stdio", { command: "x" }), { ...plainServer, bundle_id: "s" })
  })

  it("cases 194, 196 and 197: completes HTTP servers, with ISO 8601 durations or seconds", () => {
    const parametersOf = (type: string) => written(type, { url: "u" })?.server_parameters
    const [common, timeout] = [{ url: "u", headers: null }, "PT30S"]
    const streamable = { ...common, timeout, sse_read_timeout: "PT300S", terminate_on_close: true }
    assert.deepStrictEqual(parametersOf("streamable"), streamable)
    assert.deepStrictEqual(parametersOf("sse"), { ...common, timeout: 5, sse_read_timeout: 300 })
  })

  it("reads http as streamable", () => {
    assert.strictEqual(written("http", { url: "u" })?.type, "streamable")
  })

  it.each([
    [
      "case 198: a text as duration",
      oneServer("streamable", { url: "u", timeout: "abc" }),
      /servers\.s\.server_parameters\.timeout/
    ],
    ["case 198: a number as duration", oneServer("streamable", { url: "u", timeout: 30 }), /timeout/],
    ["case 198: a negative duration", oneServer("streamable", { url: "u", timeout: "-PT1S" }), /timeout/],
    ["case 199: an unknown type", oneServer("websocket", { url: "u" }), /servers\.s\.type/],
    [
      "case 200: an unknown literal",
      oneServer("stdio", { command: "x", encoding_error_handler: "skip" }),
      /encoding_error_handler/
    ],
    ["case 203: duplicate input ids", { inputs: [input, input], servers: {} }, /inputs\[1\]\.id/],
    ["a key that is too long", { servers: { ["k".repeat(257)]: { command: "x" } } }, /^servers\.k+/],
    ["an alias in default_tool_meta", withStdio({ default_tool_meta: { alias: "y" } }), /default_tool_meta\.alias/]
  ])("rejects %s with its path", (_, config, path) => {
    assert.match(errorOf(config), path)
  })

  it("cases 201 and 202: accepts inputs of all types, without a description, and no inputs", () => {
    const inputs = [
      { type: "promptString", id: "a", description: "A", password: true },
      { type: "pickString", id: "b", description: "B", options: ["x"], default: "x" },
      { type: "command", id: "c", description: "C", command: "date", args: { u: "1" } }
    ] as const
    assert.deepStrictEqual(encode(loaded({ inputs, servers: {} })).inputs, inputs)
    assert.deepStrictEqual(encode(loaded({ servers: {} })).inputs, [])
    const unnamed = { type: "promptString", id: "a" }
    assert.deepStrictEqual<unknown>(loaded({ inputs: [unnamed], servers: {} }).inputs, [
      { ...unnamed, description: "" }
    ])
  })

  it("takes a name that differs from its key as the name for people", () => {
    const { servers } = loaded(withStdio({ name: "My t" }))
    assert.deepInclude(servers["s"], { name: "s", displayName: "My t", bundleId: "My_t" })
    assert.strictEqual(written("stdio", { command: "x" }, { name: "My t" })?.name, "My t")
  })

  it("rejects a member named __proto__ at every depth", () => {
    const server = '{"type":"stdio","server_parameters":{"command":"x"}}'
    assert.include(errorOf(JSON.parse(`{"servers":{"__proto__":${server}}}`)), "__proto__")
    assert.include(errorOf(JSON.parse(`{"servers":{"s":{"command":"x","env":{"__proto__":"v"}}}}`)), "__proto__")
    const { servers } = loaded({ servers: { constructor: JSON.parse(server) } })
    assert.deepStrictEqual(Object.keys(servers), ["constructor"])
  })

  it("rejects an input whose type is a name of Object.prototype or not a string", () => {
    for (const type of ["constructor", "toString", "hasOwnProperty", { toString: 1 }, ["constructor"]]) {
      const inputs = [{ type, id: "i", description: "" }]
      assert.match(errorOf({ inputs, servers: {} }), /inputs\[0\]/)
    }
    const servers = { s: { command: "x" } }
    const { inputs } = loaded({ inputs: [{ type: "command", id: "i", command: { toString: 1 } }], servers })
    assert.strictEqual(inputs[0]?.type, "promptString")
  })

  it("accepts a placeholder for a number or a duration until it is rendered", () => {
    const config = loaded(oneServer("sse", { url: "${input:u}", timeout: "${input:t}" })).servers["s"]
    assert.deepStrictEqual(config?.parameters["timeout"], "${input:t}")
    const { value } = renderPlaceholders(config?.parameters, (text) => (text === "input:t" ? 7 : "http://h"))
    const endpoint = Result.getOrThrow(decodeEndpoint("sse", value))
    assert.isTrue(endpoint.type === "sse" && Duration.toSeconds(endpoint.timeout) === 7)
    assert.isTrue(Result.isFailure(decodeEndpoint("sse", renderPlaceholders(config?.parameters, () => "soon").value)))
  })

  it("decodes an endpoint with its type", () => {
    const types = ["stdio", "streamable", "sse"] as const
    const decoded = types.map((type) => {
      const parameters = loaded(oneServer(type, type === "stdio" ? { command: "x" } : { url: "http://h" })).servers["s"]
      return Result.getOrThrow(decodeEndpoint(type, parameters?.parameters)).type
    })
    assert.deepStrictEqual<unknown>(decoded, types)
  })

  it("hides the rejected value in errors", () => {
    assert.notInclude(errorOf(oneServer("stdio", { command: { secret: "hunter2" } })), "hunter2")
  })
})

describe("renderPlaceholders", () => {
  const values: { readonly [text: string]: unknown } = {
    "input:n": 7,
    "input:u": "Ann",
    "input:tricky": "${input:n}$&",
    "input:list": ["a"]
  }
  const rendered = (value: unknown) => renderPlaceholders(value, (text) => values[text]).value

  it.prop("leaves texts without placeholders unchanged", [Schema.Json], ([value]) => {
    const free = JSON.parse(JSON.stringify(value).replaceAll("${input:", ""))
    assert.deepStrictEqual(rendered(free), free)
  })

  it.each([
    [
      "case 205: keeps the type of a value that fills the whole text",
      { a: "${input:n}", b: ["${input:list}"] },
      { a: 7, b: [["a"]] }
    ],
    [
      "case 206: inserts several placeholders into one text",
      "Hello, ${input:u}! ${input:n}${input:n}",
      "Hello, Ann! 77"
    ],
    ["case 208: never renders a value twice", "<${input:tricky}>", "<${input:n}$&>"],
    ["case 209: leaves keys unchanged", { "${input:n}": "x" }, { "${input:n}": "x" }]
  ])("%s", (_, given, expected) => {
    assert.deepStrictEqual<unknown>(rendered(given), expected)
  })

  it("case 207: keeps and reports an unknown id", () => {
    const texts = ["${input:missing}", "x${input:gone}y"]
    const { unresolved, value } = renderPlaceholders(texts, (text) => values[text])
    assert.deepStrictEqual([value, [...unresolved]], [texts, ["input:missing", "input:gone"]])
  })

  it("stops below the maximum depth", () => {
    const nested = (text: unknown, depth: number): unknown =>
      depth === 0 ? text : depth % 2 === 0 ? [nested(text, depth - 1)] : { a: nested(text, depth - 1) }
    for (const depth of [1, maxRenderDepth - 1, maxRenderDepth]) {
      assert.deepStrictEqual(rendered(nested("${input:n}", depth)), nested(7, depth))
    }
    const tooDeep = nested("${input:n}", maxRenderDepth + 1)
    assert.deepStrictEqual(rendered(tooDeep), tooDeep)
  })

  it.each([
    ["input:a:b", { _tag: "Input", id: "a:b" }],
    ["env:HOME", { _tag: "Environment", name: "HOME", fallback: undefined }],
    ["env:HOME:-/root:-x", { _tag: "Environment", name: "HOME", fallback: "/root:-x" }],
    ["env:HOME:-", { _tag: "Environment", name: "HOME", fallback: "" }],
    ["env:LONG_NAME:-a\nb", { _tag: "Environment", name: "LONG_NAME", fallback: "a\nb" }],
    ["userHome", { _tag: "Variable", name: "userHome" }],
    ["input:", { _tag: "Variable", name: "input:" }],
    ["my input:a", { _tag: "Variable", name: "my input:a" }]
  ] as const)("distinguishes inputs, environment variables and variables of the host: %j", (text, expected) =>
    assert.deepStrictEqual(parsePlaceholder(text), expected)
  )

  it("requires values only for placeholders in use", () => {
    assert.deepStrictEqual(findPlaceholders({ a: "${input:x}", b: ["${env:Y}-${input:x}"] }), ["input:x", "env:Y"])
  })
})

describe("input", () => {
  const optionsOf = (...values: ReadonlyArray<string>) => values.map((value) => ({ label: value, value }))
  const pick: Input = { type: "pickString", id: "p", description: "", options: optionsOf("a", "b") }

  it("prefers the most specific environment variable", () => {
    assert.deepStrictEqual(inputEnvironmentNames("api_key"), ["A2C_SMCP_API_KEY", "A2C_SMCP_api_key"])
    assert.deepStrictEqual(inputEnvironmentNames("api-key", { name: "feishu-mcp", bundleId: "Feishu-1" }), [
      "A2C_SMCP_API-KEY_FEISHU-MCP",
      "A2C_SMCP_API_KEY_FEISHU_MCP",
      "A2C_SMCP_api_key_Feishu_1",
      "A2C_SMCP_API-KEY",
      "A2C_SMCP_API_KEY",
      "A2C_SMCP_api_key"
    ])
  })

  it("has a variable for messages that shells accept", () =>
    assert.strictEqual(inputVariableName("api-key"), "A2C_SMCP_API_KEY"))

  it("has a default unless it is a command", () => {
    const base = { id: "i", description: "" }
    assert.strictEqual(defaultInputValue({ ...base, type: "promptString", default: "x" }), "x")
    assert.isUndefined(defaultInputValue({ ...base, type: "promptString" }))
    assert.isUndefined(defaultInputValue({ ...base, type: "pickString", options: [] }))
    assert.isUndefined(defaultInputValue({ ...base, type: "command", command: "date" }))
    assert.isTrue(Result.isSuccess(validateInputValue({ ...base, type: "promptString" }, "any")))
    assert.isTrue(Result.isSuccess(validateInputValue(pick, "a")))
  })

  it("case 212: rejects a pick outside its options, as value and as default", () => {
    assert.isTrue(Result.isFailure(validateInputValue(pick, "c")))
    assert.isUndefined(defaultInputValue({ ...pick, default: "c" }))
    assert.strictEqual(defaultInputValue({ ...pick, default: "b" }), "b")
  })
})
