import { isDeepStrictEqual } from "node:util"
import { Effect, Result, Schema } from "effect"
import { decodeApiKeyEntries } from "../../../src/adapters/auth/apiKeyEntries.ts"
import { mergeConfigs, parseComputerConfig, parseConfig } from "../../../src/domain/config/parseConfig.ts"
import { keepRuntimeChanges, diffSetups, inputIdsOf } from "../../../src/domain/config/Setup.ts"
import { formatPath } from "../../../src/domain/validation.ts"
import { ComputerConfig } from "../../../src/domain/config/computerConfig.ts"
import { decodeEndpoint } from "../../../src/domain/config/endpointParameters.ts"
import { parseJsonc } from "../../../src/main/config/jsonc.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"
import { parseJsonOrThrow } from "../../../src/domain/json.ts"

const encode = Schema.encodeSync(ComputerConfig)

const write = (config: ComputerConfig): unknown => parseJsonOrThrow(JSON.stringify(encode(config)))

const checkConfig = (config: ComputerConfig): void => {
  const again = Result.getOrUndefined(parseComputerConfig(write(config)))
  must(again !== undefined && isDeepStrictEqual(write(again), write(config)), "a configuration changes in a round trip")
  const setup = { config, variables: {} }
  const names = Object.keys(config.servers)
  const difference = diffSetups(setup, setup)
  must(
    isDeepStrictEqual(difference.unchanged, names) && !difference.isReportedConfigChanged,
    "a setup differs from itself"
  )
  must(
    isDeepStrictEqual(Object.keys(keepRuntimeChanges(setup, setup, setup).config.servers).toSorted(), names.toSorted()),
    "a setup changes in a round trip"
  )
  must(mergeConfigs([{ file: "a", config }]).conflicts.length === 0, "a configuration conflicts with itself")
  for (const server of Object.values(config.servers)) {
    inputIdsOf(server)
    decodeEndpoint(server.type, server.parameters)
  }
}

const feed = (input: Buffer): Verdict => {
  const document = parseJsonc(input.toString("utf8"))
  const { errors, locate, value } = document
  for (const { column, line } of errors) must(line >= 1 && column >= 1, "an error has no position")
  const parsed = parseConfig(value)
  must((parsed.config === undefined) === parsed.errors.length > 0, "neither a configuration nor errors")
  for (const { path } of [...parsed.errors, ...parsed.warnings]) {
    formatPath(path)
    const { column, line } = locate(path)
    must(line >= 1 && column >= 1, "an element has no position")
  }
  const keys = decodeApiKeyEntries(value)
  if (Result.isFailure(keys)) for (const { path } of keys.failure) locate(path)
  if (parsed.config === undefined) return Result.isSuccess(keys) ? "accepted" : "refused"
  checkConfig(parsed.config)
  return "accepted"
}

const stdio = { command: "npx", args: ["-y", "${input:pkg}"], env: { TOKEN: "${env:TOKEN:-x}" }, cwd: null }

const written: ReadonlyArray<unknown> = [
  {
    inputs: [
      { type: "promptString", id: "pkg", description: "which", default: "a", password: true },
      { type: "pickString", id: "pick", description: "", options: ["a", "b"], default: "b" },
      { type: "command", id: "cmd", description: "", command: "date", args: { a: "b" } }
    ],
    servers: {
      files: {
        name: "files",
        type: "stdio",
        disabled: false,
        forbidden_tools: ["rm"],
        tool_meta: { read: { auto_apply: true, alias: "r", tags: ["a"], ret_object_mapper: null, more: 1 } },
        default_tool_meta: { auto_apply: false },
        vrl: ".a = 1",
        server_parameters: { ...stdio, encoding: "utf-8", encoding_error_handler: "strict" }
      },
      web: {
        name: "web",
        type: "streamable",
        server_parameters: {
          url: "https://example.org/mcp",
          headers: { Authorization: "Bearer ${input:pick}" },
          timeout: "PT30S",
          sse_read_timeout: "PT5M",
          terminate_on_close: true
        }
      },
      old: {
        name: "old",
        type: "sse",
        server_parameters: { url: "http://x/sse", headers: null, timeout: 5, sse_read_timeout: 300 }
      }
    }
  },
  {
    inputs: [
      { type: "promptString", id: "k" },
      { type: "command", id: "c", command: "editor.do" },
      { type: "pickString", id: "p", options: [{ label: "A", value: "a" }, "b"] }
    ],
    servers: {
      a: { ...stdio, envFile: "${workspaceFolder}/.env" },
      b: { type: "http", url: "http://x", name: "b" }
    }
  },
  {
    mcpServers: {
      a: { command: "uvx", args: ["${HOME}/x", "${VAR:-y}"], env: { A: "1", B: null } },
      b: { url: "https://x/sse", headers: { k: "${K}" }, timeout: 30 },
      c: { type: "streamable-http", url: "https://y" }
    }
  },
  {
    keys: [
      {
        subject: "ops",
        hash: `sha256:${"ab".repeat(32)}`,
        rights: ["agent", "computer"],
        offices: ["*"],
        names: ["a*"],
        expires: "2030-01-01T00:00:00Z"
      }
    ]
  }
]

/** Configuration files. */
export const configSurface: Surface = {
  name: "configs",
  about: "configuration in all dialects, and key files, as JSON with comments",
  weight: 5,
  lanes: 1,
  corpus: [
    ...written.map((value) => Buffer.from(JSON.stringify(value))),
    Buffer.from(`\ufeff// comment\n${JSON.stringify(written[2], null, 2).replaceAll('"b"', '/* x */ "b"')}`),
    Buffer.from('{"servers": {"a": {"command": "x",}, }, }')
  ],
  words: [
    ['"type":"stdio",', '"type":"constructor",', '"type":{"toString":1},'],
    ['"inputs":[{"type":"toString","id":"x"}],', '"command":', '"url":'],
    ['"servers":{},', '"mcpServers":{},', '"__proto__":{"a":1},', '"constructor":{},'],
    ["${input:", "${env:A", "${", "}"],
    ["//", "/*", "*/", "\ufeff"],
    ["PT1Y", "P-1D", "PT99999999999999S"],
    ['"name":', ",", "[", "]", "{", '"']
  ].flat(),
  longest: 16 * 1024,
  open: () => Effect.succeed(pure(feed))
}
