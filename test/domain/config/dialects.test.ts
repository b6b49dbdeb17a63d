import { assert, describe, it } from "@effect/vitest"
import { mergeConfigs, parseConfig, serversKeyOf } from "../../../src/domain/config/parseConfig.ts"
import { formatPath } from "../../../src/domain/validation.ts"

/** The paths of errors or warnings. */
const paths = (issues: ReturnType<typeof parseConfig>["errors"]) => issues.map(({ path }) => formatPath(path))
const warningsOf = (source: unknown) => paths(parseConfig(source).warnings)
const errorsOf = (source: unknown) => paths(parseConfig(source).errors)
const stdio = { type: "stdio", server_parameters: { command: "x" } }
const loaded = (source: unknown) => {
  const { config, errors } = parseConfig(source)
  assert.deepStrictEqual(errors, [])
  if (config === undefined) throw new Error("errors without a message")
  return config
}

describe("dialect of a configuration", () => {
  it.each([
    ["A2C", { servers: { s: stdio } }],
    ["A2C", { servers: {} }],
    ["VS Code", { servers: { s: { command: "x" } } }],
    ["VS Code", { servers: { s: { url: "http://h" } } }],
    ["VS Code", { servers: { s: stdio, t: { command: "x" } } }],
    ["mcpServers", { mcpServers: { s: { command: "x" } } }],
    ["mcpServers", { mcpServers: {} }]
  ] as const)("is %s: %j", (expected, source) => {
    const { dialect, errors } = parseConfig(source)
    assert.deepStrictEqual([dialect, errors], [expected, []])
    assert.strictEqual(serversKeyOf(dialect), expected === "mcpServers" ? "mcpServers" : "servers")
  })

  it.each([
    ["expected an object", []],
    ["expected an object", "servers"],
    ["servers or mcpServers is required", { inputs: [] }],
    ["servers and mcpServers are mutually exclusive", { servers: {}, mcpServers: {} }],
    ["servers: expected an object", { servers: [] }],
    ["mcpServers: expected an object", { mcpServers: null }]
  ] as const)("is unknown with the reason: %s", (issue, source) => {
    const { config, dialect, envFiles, errors, warnings } = parseConfig(source)
    assert.deepStrictEqual(
      [config, dialect, [...envFiles], errors, warnings],
      [undefined, undefined, [], [{ path: [], issue }], []]
    )
  })
})

describe("flat server", () => {
  const server = (flat: object, root = "mcpServers") => {
    const { parameters, type } = loaded({ [root]: { s: flat } }).servers["s"] ?? {}
    return { type, parameters }
  }

  it.each([
    [{ command: "x" }, "stdio"],
    [{ url: "http://h/mcp" }, "streamable"],
    [{ url: "http://h/sse" }, "sse"],
    [{ url: "http://h/sse/" }, "sse"],
    [{ url: "http://h/sse/x" }, "streamable"],
    [{ url: "http://h/sse?key=1" }, "sse"],
    [{ url: "http://h/v1/sse#x" }, "sse"],
    [{ url: "http://h/sse/?key=1#x" }, "sse"],
    [{ url: "http://h/SSE" }, "sse"],
    [{ url: "${BASE}/sse?key=${KEY}" }, "sse"],
    [{ url: "http://sse" }, "streamable"],
    [{ url: "http://sse/" }, "streamable"],
    [{ url: "http://h/mcp?next=/sse" }, "streamable"],
    [{ url: "http://h/mcp#/sse" }, "streamable"],
    [{ url: "http://h/messe" }, "streamable"],
    [{ url: "http://h", transport: "sse" }, "sse"],
    [{ url: "http://h", transportType: "sse" }, "sse"],
    [{ url: "http://h", transport_type: "SSE" }, "sse"],
    [{ url: "http://h", type: "SSE" }, "sse"],
    [{ url: "http://h", type: "http+sse" }, "sse"],
    [{ url: "http://h", type: null, transport: "sse" }, "sse"],
    [{ url: "http://h/sse", transport: "http" }, "streamable"],
    [{ url: "http://h/sse", transportType: "streamable_http" }, "streamable"],
    [{ url: "http://h/sse", type: "HTTP" }, "streamable"],
    [{ url: "http://h", type: "http", transport: "sse" }, "streamable"],
    [{ command: "x", transport: "stdio" }, "stdio"],
    [{ url: "http://h/sse", type: "http" }, "streamable"],
    [{ url: "http://h", type: "streamable" }, "streamable"],
    [{ url: "http://h", type: "streamable-http" }, "streamable"],
    [{ url: "http://h", type: "streamableHttp" }, "streamable"],
    [{ url: "http://h", type: "sse" }, "sse"],
    [{ command: "x", type: "stdio" }, "stdio"],
    [{ serverUrl: "http://h/mcp" }, "streamable"],
    [{ serverUrl: "http://h/sse" }, "sse"],
    [{ serverUrl: "http://h/sse", type: "http" }, "streamable"],
    [{ httpUrl: "http://h/mcp" }, "streamable"],
    [{ httpUrl: "http://h/sse" }, "streamable"],
    [{ httpUrl: "http://h/mcp", type: "sse" }, "sse"],
    [{ url: "http://h/mcp", type: "remote" }, "streamable"],
    [{ url: "http://h/sse", type: "remote" }, "sse"],
    [{ serverUrl: "http://h/sse", type: "remote" }, "sse"],
    [{ command: ["x"], type: "local" }, "stdio"]
  ] as const)("has a type by its fields: %j", (flat, type) => assert.strictEqual(server(flat).type, type))

  it("names the field of an unknown transport", () => {
    for (const field of ["type", "transport", "transportType"]) {
      const source = { mcpServers: { s: { url: "http://h", [field]: "carrier pigeon" } } }
      assert.deepStrictEqual(errorsOf(source), [`mcpServers.s.${field}`])
    }
  })

  it("has no warning for the field of its transport", () => {
    const source = { mcpServers: { s: { url: "http://h", transport: "sse", transportType: "sse" } } }
    assert.deepStrictEqual(parseConfig(source).warnings, [])
  })

  it("keeps parameters of its type, and settings beside them", () => {
    const flat = { command: "x", args: ["-a"], env: { A: "1", B: null }, cwd: "/w", forbidden_tools: ["rm"] }
    const { forbiddenTools, parameters } = loaded({ mcpServers: { s: flat } }).servers["s"] ?? {}
    assert.deepStrictEqual(forbiddenTools, ["rm"])
    assert.deepInclude(parameters, { command: "x", args: ["-a"], env: { A: "1" }, cwd: "/w" })
  })

  it.each(["mcpServers", "servers"])("has the parameters of other hosts in %s", (root) => {
    const headers = { A: "b" }
    for (const field of ["serverUrl", "httpUrl"]) {
      const source = { [root]: { s: { [field]: "http://h/mcp", headers } } }
      assert.deepInclude(loaded(source).servers["s"]?.parameters, { url: "http://h/mcp", headers })
      assert.deepStrictEqual(parseConfig(source).warnings, [])
    }
    const local = { type: "local", command: ["npx", "-y", "x"], environment: { A: "1" }, enabled: true }
    const { parameters } = loaded({ [root]: { s: local } }).servers["s"] ?? {}
    assert.deepInclude(parameters, { command: "npx", args: ["-y", "x"], env: { A: "1" } })
    assert.deepStrictEqual(parseConfig({ [root]: { s: local } }).warnings, [])
  })

  it("converts variables of shells in the parameters of other hosts", () => {
    assert.deepInclude(server({ command: ["${BIN}", "${A}"], environment: { B: "${B}" } }).parameters, {
      command: "${env:BIN}",
      args: ["${env:A}"],
      env: { B: "${env:B}" }
    })
    assert.deepInclude(server({ serverUrl: "http://${HOST}" }).parameters, { url: "http://${env:HOST}" })
  })

  it.each([
    [{ url: "http://h/a", serverUrl: "http://h/b" }, { url: "http://h/a" }, "serverUrl"],
    [{ httpUrl: "http://h/a", serverUrl: "http://h/b" }, { url: "http://h/a" }, "serverUrl"],
    [{ command: "x", env: { A: "1" }, environment: { A: "2" } }, { env: { A: "1" } }, "environment"]
  ])("warns about a second field for a parameter: %j", (flat, parameters, field) => {
    assert.deepInclude(server(flat).parameters, parameters)
    assert.deepStrictEqual(warningsOf({ mcpServers: { s: flat } }), [`mcpServers.s.${field}`])
  })

  it.each([
    [{ serverUrl: {} }, "mcpServers.s.serverUrl"],
    [{ httpUrl: {} }, "mcpServers.s.httpUrl"],
    [{ command: "x", environment: 1 }, "mcpServers.s.environment"],
    [{ command: "x", environment: { A: {} } }, "mcpServers.s.environment.A"],
    [{ command: [] }, "mcpServers.s.command"],
    [{ command: [{}] }, "mcpServers.s.command[0]"],
    [{ command: ["x", "y", {}] }, "mcpServers.s.command[2]"],
    [{ command: ["x"], args: ["y"] }, "mcpServers.s.command"],
    [{ command: "x", args: [{}] }, "mcpServers.s.args[0]"],
    [{ type: "remote" }, "mcpServers.s.url"]
  ])("fails with the path of the field of another host: %j", (flat, path) => {
    assert.deepStrictEqual(errorsOf({ mcpServers: { s: flat } }), [path])
  })

  it("ignores a timeout in milliseconds, and keeps one with a unit", () => {
    const withTimeout = (timeout: unknown) => ({ mcpServers: { s: { url: "http://h", timeout } } })
    assert.strictEqual(loaded(withTimeout(3000)).servers["s"]?.parameters["timeout"], "PT30S")
    assert.deepStrictEqual(paths(parseConfig(withTimeout(3000)).warnings), ["mcpServers.s.timeout"])
    assert.strictEqual(loaded(withTimeout("PT3S")).servers["s"]?.parameters["timeout"], "PT3S")
    assert.deepStrictEqual(parseConfig(withTimeout("PT3S")).warnings, [])
  })

  it("converts variables of shells, except those of the host, in mcpServers only", () => {
    const others = ["${userHome}", "${workspaceFolder}", "$HOME", "${env:A}", "${1A}"]
    const flat = {
      command: "${BIN}",
      args: ["${HOME_2:-/root}/x", ...others, "${A}${B}"],
      env: { A: "${A:-}" }
    }
    assert.deepInclude(server(flat).parameters, {
      command: "${env:BIN}",
      args: ["${env:HOME_2:-/root}/x", ...others, "${env:A}${env:B}"],
      env: { A: "${env:A:-}" }
    })
    assert.deepInclude(server(flat, "servers").parameters, flat)
  })

  it.each([
    [{ mcpServers: { s: {} } }, "mcpServers.s.command"],
    [{ servers: { s: { command: {} } } }, "servers.s.command"],
    [{ servers: { s: { ...stdio, server_parameters: { command: {} } } } }, "servers.s.server_parameters.command"],
    [{ mcpServers: { s: 1 } }, "mcpServers.s"],
    [{ mcpServers: { s: { command: "x" } }, inputs: 1 }, "inputs"],
    [{ mcpServers: { s: { command: "x" } }, inputs: [{ id: 1 }] }, "inputs[0]"]
  ])("fails with the path in the original format: %j", (source, path) => {
    assert.deepStrictEqual(errorsOf(source), [path])
  })
})

describe("server in A2C's format", () => {
  it.each([
    [{ type: "SSE" }, "sse"],
    [{ transport: "sse" }, "sse"],
    [{ type: "http", transport: "sse" }, "streamable"]
  ] as const)("has the transport that a field names: %j", (fields, type) => {
    const { servers } = loaded({ servers: { s: { ...fields, server_parameters: { url: "http://h/sse" } } } })
    assert.strictEqual(servers["s"]?.type, type)
  })
})

describe.each([
  ["A2C", (fields: object) => ({ servers: { s: { ...stdio, ...fields } } })],
  ["VS Code", (fields: object) => ({ servers: { s: { command: "x", ...fields } } })],
  ["mcpServers", (fields: object) => ({ mcpServers: { s: { command: "x", ...fields } } })]
] as const)("switch of a server in the dialect %s", (_, source) => {
  it.each([
    [{}, false],
    [{ disabled: true }, true],
    [{ disabled: false }, false],
    [{ enabled: false }, true],
    [{ enabled: true }, false],
    [{ isActive: false }, true],
    [{ enabled: "false" }, true],
    [{ enabled: "TRUE" }, false],
    [{ disabled: "true" }, true],
    [{ enabled: null }, false],
    [{ disabled: false, enabled: false }, true],
    [{ disabled: true, enabled: true }, true]
  ] as const)("disables it when one turns it off: %j", (fields, disabled) => {
    assert.strictEqual(loaded(source(fields)).servers["s"]?.disabled, disabled)
    assert.deepStrictEqual(parseConfig(source(fields)).warnings, [])
  })

  it.each(["enabled", "disabled", "isActive"])("must be true or false: %s", (field) => {
    for (const value of ["no", 0, {}, "${env:OFF}"]) {
      const [path = ""] = errorsOf(source({ [field]: value }))
      assert.match(path, new RegExp(`\\.${field}$`))
    }
  })
})

describe("configuration with warnings", () => {
  it("warns about every unknown field", () => {
    const source = {
      $schema: "x",
      extra: 1,
      inputs: [{ type: "promptString", id: "i", hint: 1 }, { type: "other" }, 7],
      servers: {
        s: {
          ...stdio,
          server_parameters: { command: "x", dev: {} },
          color: "red",
          envFile: ".env",
          default_tool_meta: { ttl: 1, tags: [] },
          tool_meta: { read: { color: 1, alias: "r" } }
        }
      }
    }
    assert.deepStrictEqual(warningsOf(source), [
      "extra",
      "inputs[0].hint",
      "servers.s.color",
      "servers.s.server_parameters.dev",
      "servers.s.default_tool_meta.ttl",
      "servers.s.tool_meta.read.color"
    ])
  })

  it("warns about unknown fields of flat servers and of HTTP servers", () => {
    const flat = { command: "x", color: 1, envFile: "e", tool_meta: { read: { ttl: 1 } } }
    const warnings = ["mcpServers.s.color", "mcpServers.s.tool_meta.read.ttl"]
    assert.deepStrictEqual(warningsOf({ mcpServers: { s: flat } }), warnings)
    for (const type of ["http", "streamable", "sse"]) {
      const source = { servers: { s: { type, server_parameters: { url: "http://h", dev: 1 } } } }
      assert.deepStrictEqual(warningsOf(source), ["servers.s.server_parameters.dev"])
    }
  })

  it("has none for a file without unknown fields", () => {
    assert.deepStrictEqual(parseConfig({ $schema: "x", inputs: [], servers: { s: stdio } }).warnings, [])
    assert.deepStrictEqual(parseConfig({ $schema: "x", inputs: [], mcpServers: { s: { command: "x" } } }).warnings, [])
  })

  it("warns about commands of VS Code, which become prompts", () => {
    const inputs = [
      { type: "command", id: "c", command: "editor.pick" },
      { type: "pickString", id: "p", description: "P", options: ["a", { label: "B", value: "b" }] },
      { type: "promptString", id: "q", description: "Q" }
    ]
    const vsCode = { inputs, servers: { s: { command: "x" } } }
    assert.deepStrictEqual(warningsOf(vsCode), ["inputs[0]"])
    const [command, pick, prompt] = loaded(vsCode).inputs
    assert.deepInclude(command, { type: "promptString", id: "c" })
    const [a, b] = [
      { label: "a", value: "a" },
      { label: "B", value: "b" }
    ]
    assert.deepInclude(pick, { type: "pickString", options: [a, b] })
    assert.deepStrictEqual(prompt, { type: "promptString", id: "q", description: "Q" })
    const [kept] = loaded({ inputs: inputs.slice(0, 1), servers: { s: stdio } }).inputs
    assert.deepInclude(kept, { type: "command", command: "editor.pick" })
  })
})

describe("configuration with environment files", () => {
  it("lists those of the servers that name one", () => {
    const { envFiles } = parseConfig({
      servers: { a: { ...stdio, envFile: ".env" }, b: stdio, c: { ...stdio, envFile: 7 }, d: null }
    })
    assert.deepStrictEqual([...envFiles], [["a", ".env"]])
  })
})

describe("mergeConfigs", () => {
  const source = (file: string, servers: ReadonlyArray<string>, inputs: ReadonlyArray<string> = []) => ({
    file,
    config: loaded({
      inputs: inputs.map((id) => ({ type: "promptString", id })),
      servers: Object.fromEntries(servers.map((name) => [name, stdio]))
    })
  })

  it("keeps servers and inputs of all files in their order", () => {
    const { config, conflicts } = mergeConfigs([source("a", ["x"], ["i"]), source("b", ["i", "y"], ["x"])])
    assert.deepStrictEqual(Object.keys(config.servers), ["x", "i", "y"])
    const ids = config.inputs.map(({ id }) => id)
    assert.deepStrictEqual([ids, conflicts], [["i", "x"], []])
  })

  it("reports a server or an input of two files as a conflict", () => {
    const { conflicts } = mergeConfigs([source("a", ["x"], ["i"]), source("b", ["y"]), source("c", ["x"], ["i"])])
    assert.deepStrictEqual(conflicts, [
      { kind: "server", name: "x", files: ["a", "c"] },
      { kind: "input", name: "i", files: ["a", "c"] }
    ])
  })
})
