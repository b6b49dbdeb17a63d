import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { becomes } from "./computers.ts"
import { board, live, type Office, office, published, waits } from "./offices.ts"
import { type Cli, cli, node, temporaryFolder } from "./processes.ts"

const installed = (path: string) => fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url))
const inspector = installed(".bin/mcp-inspector")
const mcpdo = installed(".bin/mcpdo")
const daemon = installed("@modelcontextprotocol/inspector/clients/mcpdo/build/mcpdod.js")

/** A folder for what the inspector remembers, and the variables that keep it there. */
const memory = Effect.map(temporaryFolder, (folder) => ({
  folder,
  variables: { HOME: folder, MCP_INSPECTOR_DAEMON_DIR: folder, MCP_INSPECTOR_SECRET_STORE: "file" }
}))

/** What a program has said on stdout once it has ended well. */
const answerOf = Effect.fnUntraced(function* (program: Cli) {
  assert.strictEqual(yield* program.ended, 0, program.stderr())
  return program.stdout()
})

/** Lists, calls and stops a call by `mcp-inspector --cli`, whose every process has a session of its own. */
const inspectOffice = Effect.fnUntraced(function* (there: Office, ...target: ReadonlyArray<string>) {
  const { variables } = yield* memory
  const inspect = (...method: ReadonlyArray<string>) =>
    node([inspector, "--cli", ...target, "--method", ...method], variables)

  assert.include(yield* answerOf(yield* inspect("tools/list")), '"lab__add_note"')
  const echo = yield* inspect("tools/call", "--tool-name", "desk__echo", "--tool-arg", "message=hi")
  assert.include(yield* answerOf(echo), "Echo: hi")

  const slow = yield* inspect("tools/call", "--tool-name", "desk__wait")
  yield* waits(there, { started: 1, cancelled: 0 })
  // It ends without a word to the office, which has to see for itself that nobody waits for the answer any more.
  yield* slow.signal("SIGINT")
  yield* waits(there, { started: 1, cancelled: 1 })
})

/** Subscribes by `mcpdo`, the inspector's program for sessions that last: `--cli` can only ask and answer. */
const followOffice = Effect.fnUntraced(function* ({ lab }: Office, ...target: ReadonlyArray<string>) {
  const { folder, variables } = yield* memory
  // It would start its daemon itself, and nobody would own that.
  yield* node([daemon], variables)
  yield* becomes("the start of the daemon", () => existsSync(join(folder, "mcpdod.sock")))
  const inspect = (...args: ReadonlyArray<string>) =>
    node([mcpdo, "--connection", "office", "--format", "json", ...args], variables)
  yield* answerOf(yield* inspect("connect", ...target))

  const following = yield* inspect("resources/subscribe", board)
  yield* following.says('"subscribed"')
  yield* lab.types("call add_note text=plants")
  yield* following.says('"resources/updated"')
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

/** What publishes an office over stdio, as the inspector's programs are told. */
const overStdio = ({ environment }: Office): ReadonlyArray<string> => [
  ...Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
  process.execPath,
  cli,
  "agent",
  "mcp"
]

describe("the inspector's command line", () => {
  live(
    "--cli lists and calls over stdio, and Ctrl-C stops the tool",
    Effect.gen(function* () {
      const there = yield* office
      yield* inspectOffice(there, ...overStdio(there))
    })
  )

  live(
    "--cli lists and calls over HTTP, and Ctrl-C stops the tool",
    Effect.gen(function* () {
      const there = yield* office
      const { url } = yield* published(there)
      yield* inspectOffice(there, url, "--transport", "http")
    })
  )

  live(
    "mcpdo subscribes over stdio",
    Effect.gen(function* () {
      const there = yield* office
      yield* followOffice(there, ...overStdio(there))
    })
  )

  live(
    "mcpdo subscribes over HTTP",
    Effect.gen(function* () {
      const there = yield* office
      const { url } = yield* published(there)
      yield* followOffice(there, url, "--transport", "http")
    })
  )
})
