import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { makeDpeResolver, toComputerOptions } from "../../../../src/main/cli/computer/withComputer.ts"
import { type ComputerCommandOptions, computerFlags } from "../../../../src/main/cli/computer/flags.ts"
import { memberConnection } from "../../../../src/main/cli/memberConnection.ts"
import { publishHttp } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { userStateFile } from "../../../../src/adapters/process/userFolders.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { fileWriter, type FlagRow, type FlagRows, parserOf, testFlags } from "../flagRows.ts"
import { a2cInProcess, a2cRunning, serverInProcess } from "../inProcess.ts"
import { denyingPolicy, reloadsConfig } from "../reloadsConfig.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const parse = parserOf(computerFlags)

const folder = folderOfTests()

const fileWith = fileWriter(folder)

type Options = ReturnType<typeof toComputerOptions>

/** A row of a flag that leads to an option of the layers. */
const option = (
  args: ReadonlyArray<string>,
  outcomes: readonly [unknown, unknown],
  select: (options: Options) => unknown
): FlagRow => [args, outcomes, (given) => Effect.map(parse(given), (options) => select(toComputerOptions(options)))]

/** The configuration of a server with a tool. */
const configFor = Effect.gen(function* () {
  const echo = tool("echo", () => Effect.succeed(textResult("done")))
  const { connect } = yield* makeMemoryMcpServer({ tools: [echo] })
  const { url } = yield* publishHttp(yield* connect, { port: 0, token: "allowAll" })
  const servers = { alpha: { type: "streamable", server_parameters: { url } } }
  return fileWith(`config-${new URL(url).port}.json`, JSON.stringify({ servers }))
})

/** What commands of the shell print, with a server that has the tool `echo`. */
const outputOf = (commands: ReadonlyArray<string>, args: ReadonlyArray<string>, config?: string) =>
  Effect.gen(function* () {
    const file = config ?? (yield* configFor)
    const runs = commands.flatMap((command) => ["--run", command])
    return yield* a2cInProcess("computer", "--config", file, "--approvals", join(folder, "approvals"), ...runs, ...args)
  })

const includes = (text: string, words: string) => text.includes(words)

const audit = join(folder, "audit.log")
const authorities = readFileSync(new URL("../../../fixtures/tls/first.cert.pem", import.meta.url), "utf8")
const policyFile = fileWith("policy.yaml", "rules:\n  - tool: echo\n    action: deny\n    reason: never here\n")
const secretsConfig = fileWith(
  "inputs.json",
  JSON.stringify({
    inputs: [{ id: "key", type: "promptString" }],
    servers: { off: { type: "stdio", disabled: true, server_parameters: { command: "x", args: ["${input:key}"] } } }
  })
)

const rows: FlagRows<ComputerCommandOptions> = {
  server: option(
    ["--server", "http://a.example"],
    ["http://127.0.0.1:7070", "http://a.example"],
    ({ layer }) => layer.url
  ),
  tokenFile: [
    ["--token-file", fileWith("token", "t0ken")],
    [undefined, "t0ken"],
    Effect.fnUntraced(function* (args) {
      const { token } = yield* Effect.flatMap(parse(args), memberConnection)
      const text = Effect.isEffect(token) ? yield* token : token
      return Redacted.isRedacted(text) ? Redacted.value(text) : text
    }, Effect.provide(NodeServices.layer))
  ],
  tlsCa: [
    ["--tls-ca", fileWith("ca.pem", authorities)],
    [undefined, authorities],
    (args) =>
      Effect.provide(
        Effect.map(Effect.flatMap(parse(args), memberConnection), (connection) => Object(connection).ca),
        NodeServices.layer
      )
  ],
  office: [
    ["--office", "team"],
    [false, true],
    (args) =>
      Effect.map(
        outputOf(["status"], ["--server", "http://127.0.0.1:1", ...args]),
        ({ failure }) => failure !== undefined
      )
  ],
  name: option(["--name", "desk"], [false, true], ({ layer }) => layer.name === "desk"),
  protocol: option(["--protocol", "0.4"], ["0.2", "0.4"], ({ layer }) => layer.protocol),
  takeOver: option(["--take-over"], [false, true], ({ layer }) => layer.takeOver),
  wait: option(["--wait", "7"], [0, 7], ({ layer }) => Duration.toSeconds(layer.wait)),
  configFiles: [
    ["--config", secretsConfig],
    [false, true],
    (args) => Effect.map(outputOf(["servers"], args), ({ stdout }) => includes(stdout, "off"))
  ],
  inputs: [
    ["--input", "key=@" + fileWith("key", "v")],
    [false, true],
    (args) => Effect.map(outputOf(["inputs"], args, secretsConfig), ({ stdout }) => !includes(stdout, "not set"))
  ],
  watch: [
    ["--no-watch"],
    [true, false],
    Effect.fnUntraced(function* (args) {
      const url = yield* serverInProcess
      const files = { config: yield* configFor, policy: fileWith("watched.yaml", denyingPolicy("once")) }
      const place = ["--server", url, "--office", "team", "--approvals", join(folder, "approvals")]
      const given = ["--config", files.config, "--policy", files.policy, ...args]
      const computer = yield* a2cRunning("computer", ...place, ...given)
      yield* computer.prints("joined office")
      return yield* reloadsConfig(computer, files, JSON.stringify({ servers: {} }), args.length === 0)
    })
  ],
  mcpRevision: option(["--mcp-revision", "2026-07-28"], ["2025-11-25", "2026-07-28"], ({ layer }) => layer.mcpRevision),
  clientMetadataUrl: option(
    ["--client-metadata-url", "https://desk.example/client.json"],
    [undefined, "https://desk.example/client.json"],
    ({ layer }) => layer.clientMetadataUrl
  ),
  lifecycle: option(["--lifecycle", "lazy"], ["eager", "lazy"], ({ layer }) => layer.settings.lifecycle),
  idle: option(
    ["--idle", "7s"],
    [300, 7],
    ({ layer }) => layer.settings.idle && Duration.toSeconds(layer.settings.idle)
  ),
  interactive: [
    ["--interactive"],
    [false, true],
    (args) => Effect.map(outputOf(["status"], args), ({ failure }) => includes(String(failure), "not both"))
  ],
  run: [
    ["--run", "servers"],
    [false, true],
    (args) => Effect.map(outputOf(["status"], args), ({ stdout }) => includes(stdout, "streamable"))
  ],
  allWindows: option(["--all-windows"], [false, true], ({ layer }) => layer.settings.showUnsubscribable),
  dpe: [
    ["--dpe", "nonsense"],
    [false, true],
    (args) => Effect.map(outputOf(["status"], args), ({ failure }) => includes(String(failure), "expected cache"))
  ],
  dpeUrl: [
    ["--dpe-url", "https://docs.example"],
    [false, true],
    Effect.fnUntraced(function* (args) {
      const { dpe = "", dpeUrl } = yield* parse(["--dpe", "http:0", ...args])
      const resolve = yield* makeDpeResolver(dpe, dpeUrl)
      const contents = [{ uri: "dpe://a/b", text: "text" }]
      const hint = { mcpServerName: "alpha", mimeType: undefined, agent: "ada", reqId: "r" }
      const { uri } = yield* resolve({ uri: "dpe://a/b", contents, resource: undefined, hint })
      return uri.startsWith("https://docs.example/")
    })
  ],
  skills: option(["--skills", "/skills"], [undefined, "/skills"], ({ layer }) => layer.skills.userFolder),
  marketplaces: option(
    ["--marketplace", "/one", "--marketplace", "/two"],
    [[], ["/one", "/two"]],
    ({ layer }) => layer.skills.marketplaces
  ),
  uploads: option(["--uploads", "/uploads"], [undefined, "/uploads"], ({ layer }) => layer.uploads?.folder),
  operators: option(["--operators"], [false, true], ({ layer }) => layer.operators.calls),
  shareStderr: option(["--share-stderr"], [false, true], ({ layer }) => layer.operators.stderr),
  approve: option(
    ["--approve", "a*", "--approve", "b/*,c"],
    [[], ["a*", "b/*", "c"]],
    ({ layer }) => layer.settings.approve
  ),
  policy: [
    ["--policy", policyFile],
    [false, true],
    (args) => Effect.map(outputOf(["explain echo"], args), ({ stdout }) => includes(stdout, "never here"))
  ],
  approvers: option(
    ["--approvers", "page,agent"],
    [
      [["terminal"], []],
      [
        ["page", "agent"],
        ["page", "agent"]
      ]
    ],
    ({ approvers, layer }) => [approvers, layer.settings.approvers]
  ),
  approvalTimeout: option(
    ["--approval-timeout", "7"],
    [300, 7],
    ({ layer }) => layer.settings.approvalTimeout && Duration.toSeconds(layer.settings.approvalTimeout)
  ),
  approvals: option(
    ["--approvals", "/approvals.json"],
    [userStateFile("approvals.json"), "/approvals.json"],
    ({ approvalsFile }) => approvalsFile
  ),
  audit: [
    ["--audit", audit],
    [false, true],
    (args) =>
      Effect.map(
        outputOf(["call echo"], args),
        () => existsSync(audit) && includes(readFileSync(audit, "utf8"), "echo")
      )
  ]
}

describe("a flag of a2c computer", () => {
  testFlags(rows)
})
