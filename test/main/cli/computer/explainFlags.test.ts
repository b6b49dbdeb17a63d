import { readFileSync } from "node:fs"
import { describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as FileApprovalStore from "../../../../src/adapters/approvals/FileApprovalStore.ts"
import { publishHttp } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { ExplainCommandOptions } from "../../../../src/main/cli/computer/flags.ts"
import { computerLayer } from "../../../../src/main/layers/computerLayer.ts"
import { tool } from "../../../conformance/members.ts"
import { configOf as computerConfig } from "../../computers.ts"
import { fileWriter, type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, type Outcome, prints, serverInProcess } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"
import { portDefaults } from "../../../portDefaults.ts"

const fileWith = fileWriter(folderOfTests())

const rule = (condition: string) => `rules:\n  - action: deny\n    ${condition}\n    reason: never here\n`
const policies = {
  argument: fileWith("argument.yaml", rule('arguments: { message: { matches: "hello*" } }')),
  subject: fileWith("subject.yaml", rule("subject: ada")),
  computer: fileWith("computer.yaml", rule("computer: desk")),
  office: fileWith("office.yaml", rule("office: lab")),
  tool: fileWith("tool.yaml", rule("tool: echo"))
}

/** A configuration with a server, whose URL is an input where its value is a flag. */
const configFor = Effect.fnUntraced(function* (isInput: boolean) {
  const { connect } = yield* makeMemoryMcpServer({ tools: [tool("echo")] })
  const { url } = yield* publishHttp(yield* connect, { port: 0, token: "allowAll" })
  const parameters = { url: isInput ? "${input:url}" : url }
  const inputs = isInput ? [{ id: "url", type: "promptString" }] : []
  const servers = { alpha: { type: "streamable", server_parameters: parameters } }
  return { url, config: fileWith(`config-${new URL(url).port}.json`, JSON.stringify({ inputs, servers })) }
})

/** A row of a flag: an outcome of the command with a configuration and other flags. */
const explained = (
  args: ReadonlyArray<string>,
  select: (outcome: Outcome) => unknown,
  others: ReadonlyArray<string> = ["--tool", "echo"]
): FlagRow => [
  args,
  [false, true],
  Effect.fnUntraced(function* (given) {
    const { config } = yield* configFor(false)
    return select(yield* a2cInProcess("computer", "explain", "--config", config, ...others, ...given))
  })
]

const withPolicy = (policy: string) => ["--tool", "echo", "--policy", policy]

const isDecided = prints("decision  deny")
const isAllowed = prints("decision  allow")

/** A call that the owner has allowed for good, in an office of the protocol 0.2: flags that find this approval, by their name. */
const approved = Effect.gen(function* () {
  const { config } = yield* configFor(false)
  const url = yield* serverInProcess
  const approvals = `${config}.approvals`
  const { servers } = JSON.parse(readFileSync(config, "utf8"))
  const layer = computerLayer({
    url,
    name: "desk",
    office: "team",
    protocol: "0.2",
    config: computerConfig(servers),
    approvals: FileApprovalStore.layer(approvals, url),
    confirm: () => Effect.succeed({ action: "allow", scope: "tool" })
  })
  yield* Layer.build(Layer.fresh(Layer.provide(layer, portDefaults)))
  yield* a2cInProcess("agent", "--server", url, "--office", "team", "call", "echo")
  const flags = { "--server": url, "--approvals": approvals, "--protocol": "0.2" }
  return { config, flags, others: ["--office", "team", "--name", "desk", "--tool", "echo"] }
})

/** A row of a flag that selects among standing approvals: the others select the one of the call. */
const selecting = (name: "--server" | "--approvals" | "--protocol", other?: string): FlagRow => [
  [name],
  [false, true],
  Effect.fnUntraced(function* (given) {
    const { config, flags, others } = yield* approved
    const value = (flag: string, right: string) => (flag === name && given.length === 0 ? other : right)
    const selection = Object.entries(flags).flatMap(([flag, right]) => {
      const chosen = value(flag, right)
      return chosen === undefined ? [] : [flag, chosen]
    })
    return isAllowed(yield* a2cInProcess("computer", "explain", "--config", config, ...others, ...selection))
  })
]

const explainRows: FlagRows<ExplainCommandOptions> = {
  server: selecting("--server"),
  approvals: selecting("--approvals"),
  protocol: selecting("--protocol", "0.4"),
  tool: explained(["--tool", "echo"], prints("echo"), []),
  args: explained(["--args", '{"message":"hello"}'], isDecided, withPolicy(policies.argument)),
  words: explained(["message=hello"], isDecided, withPolicy(policies.argument)),
  subject: explained(["--subject", "ada"], isDecided, withPolicy(policies.subject)),
  office: explained(["--office", "lab"], isDecided, withPolicy(policies.office)),
  name: explained(["--name", "desk"], isDecided, withPolicy(policies.computer)),
  configFiles: [
    ["--config"],
    [false, true],
    Effect.fnUntraced(function* (given) {
      const { config } = yield* configFor(false)
      const words = given.length === 0 ? [] : ["--config", config]
      return prints("echo")(yield* a2cInProcess("computer", "explain", "--tool", "echo", ...words))
    })
  ],
  inputs: [
    ["--input"],
    [false, true],
    Effect.fnUntraced(function* (given) {
      const { config, url } = yield* configFor(true)
      const words = given.length === 0 ? [] : ["--input", `url=${url}`]
      return prints("echo")(yield* a2cInProcess("computer", "explain", "--config", config, "--tool", "echo", ...words))
    })
  ],
  approvers: explained(["--approvers", "agent"], ({ stdout }) => !stdout.includes("cannot ask")),
  approve: explained(["--approve", "echo"], isAllowed),
  policy: explained(["--policy", policies.tool], isDecided),
  json: explained(["--json"], ({ stdout }) => stdout.startsWith("{"))
}

describe("a flag of a2c computer explain", () => {
  testFlags(explainRows)
})
