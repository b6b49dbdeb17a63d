import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { becomes } from "../main/computers.ts"
import { until } from "../main/nodes.ts"
import { board, live, type Office, office, published, waits } from "../main/offices.ts"
import { type Cli, cli, node } from "../main/processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const installed = (path: string) => fileURLToPath(new URL(`./node_modules/${path}`, import.meta.url))
const inspector = installed(".bin/mcp-inspector")
const mcpdo = installed(".bin/mcpdo")
const daemon = installed("@modelcontextprotocol/inspector/clients/mcpdo/build/mcpdod.js")

/** A folder for the state of the inspector, and the environment variables for it. */
const memory = Effect.map(temporaryFolder, (folder) => ({
  folder,
  variables: { HOME: folder, MCP_INSPECTOR_DAEMON_DIR: folder, MCP_INSPECTOR_SECRET_STORE: "file" }
}))

/** The stdout of a program that exits with 0. */
const answerOf = Effect.fnUntraced(function* (program: Cli) {
  assert.strictEqual(yield* program.ended, 0, program.stderr())
  return program.stdout()
})

/** Waits until the Agent has left the office: the inspector does not wait for the end of its server. */
const isFree = ({ environment }: Office) =>
  until(
    Effect.promise(async () => {
      const status = await fetch(`${environment.A2C_SERVER}/status`)
      return ((await status.json()) as { readonly members: { readonly agents: number } }).members.agents
    }),
    (agents) => agents === 0
  )

/** Lists, calls and cancels with `mcp-inspector --cli`. Each process has a separate session, and waits for `isReady`. */
const inspectOffice = Effect.fnUntraced(function* (
  there: Office,
  isReady: Effect.Effect<unknown, string>,
  ...target: ReadonlyArray<string>
) {
  const { variables } = yield* memory
  const inspect = (...method: ReadonlyArray<string>) =>
    Effect.andThen(isReady, node([inspector, "--cli", ...target, "--method", ...method], variables))

  assert.include(yield* answerOf(yield* inspect("tools/list")), '"lab__add_note"')
  const echo = yield* inspect("tools/call", "--tool-name", "desk__echo", "--tool-arg", "message=hi")
  assert.include(yield* answerOf(echo), "Echo: hi")
  const prompt = yield* inspect("prompts/get", "--prompt-name", "desk__args-prompt", "--prompt-args", "city=Paris")
  assert.include(yield* answerOf(prompt), "What's weather in Paris?")
  assert.include(yield* answerOf(yield* inspect("resources/templates/list")), "mcp://desk/everything/demo://resource")

  const slow = yield* inspect("tools/call", "--tool-name", "desk__wait")
  yield* waits(there, { started: 1, cancelled: 0 })
  // The process exits without a notice, so the office must detect that the call is abandoned.
  yield* slow.signal("SIGINT")
  yield* waits(there, { started: 1, cancelled: 1 })
})

/** Connects `mcpdo`, the inspector program for long sessions; `--cli` only sends requests. */
const startMcpdo = Effect.fnUntraced(function* (...target: ReadonlyArray<string>) {
  const { folder, variables } = yield* memory
  // Otherwise `mcpdo` would start a daemon that outlives the test.
  yield* node([daemon], variables)
  yield* becomes("the start of the daemon", () => existsSync(join(folder, "mcpdod.sock")))
  const inspect = (...args: ReadonlyArray<string>) =>
    node([mcpdo, "--connection", "office", "--format", "json", ...args], variables)
  yield* answerOf(yield* inspect("connect", ...target))
  return inspect
})

const followOffice = Effect.fnUntraced(function* ({ lab }: Office, ...target: ReadonlyArray<string>) {
  const inspect = yield* startMcpdo(...target)
  const following = yield* inspect("resources/subscribe", board)
  yield* following.prints('"subscribed"')
  yield* lab.types("call add_note text=plants")
  yield* following.prints('"resources/updated"')
  yield* following.signal("SIGINT")
  const events = (yield* answerOf(following)).trim().split(/\n(?=\{)/)
  assert.deepStrictEqual(
    events.map((event): unknown => JSON.parse(event)),
    [
      { type: "subscribed", uri: board },
      { type: "resources/updated", uri: board }
    ]
  )
  assert.include(yield* answerOf(yield* inspect("resources/read", board)), "plants")
})

/** Calls a tool that requires a task, and answers its question. */
const runTask = Effect.fnUntraced(function* (...target: ReadonlyArray<string>) {
  const inspect = yield* startMcpdo(...target)
  const asked = yield* answerOf(
    yield* inspect("tools/call", "desk__simulate-research-query", "topic:=tea", "ambiguous:=true")
  )
  const [question = ""] = /elicitation-[0-9a-f-]+/.exec(asked) ?? []
  const answered = yield* inspect("elicitation/respond", question, "interpretation:=technical")
  assert.include(yield* answerOf(answered), "Research Report: tea (technical)")
})

/** The command that publishes an office over stdio, for the inspector programs. */
const overStdio = ({ environment }: Office): ReadonlyArray<string> => [
  ...Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
  process.execPath,
  cli,
  "agent",
  "mcp"
]

describe("MCP inspector", () => {
  live(
    "lists and calls with --cli over stdio, and stops the tool on Ctrl-C",
    Effect.gen(function* () {
      const there = yield* office
      yield* inspectOffice(there, isFree(there), ...overStdio(there))
    })
  )

  live(
    "lists and calls with --cli over HTTP, and stops the tool on Ctrl-C",
    Effect.gen(function* () {
      const there = yield* office
      const { url } = yield* published(there)
      yield* inspectOffice(there, Effect.void, url, "--transport", "http")
    })
  )

  live(
    "subscribes with mcpdo over stdio",
    Effect.gen(function* () {
      const there = yield* office
      yield* followOffice(there, ...overStdio(there))
    })
  )

  live(
    "subscribes with mcpdo over HTTP",
    Effect.gen(function* () {
      const there = yield* office
      const { url } = yield* published(there)
      yield* followOffice(there, url, "--transport", "http")
    })
  )

  for (const era of ["legacy", "modern"]) {
    live(
      `runs a task with mcpdo in the ${era} era, and answers its question`,
      Effect.gen(function* () {
        const there = yield* office
        yield* there.desk.prints("MCP server ready", "stderr", 2)
        const { url } = yield* published(there)
        yield* runTask(url, "--transport", "http", "--era", era)
      })
    )
  }
})
