import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { server } from "./offices.ts"
import { a2c, cli, node, outcomeOf, temporaryFile } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const changing = fileURLToPath(new URL("../fixtures/changingServer.ts", import.meta.url))

/** A Computer with the tool `write`, whose approvals the shell and the Agent decide, and its files. */
const office = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const config = yield* temporaryFile(
    "mcp.json",
    JSON.stringify({ mcpServers: { notes: { command: process.execPath, args: [changing] } } })
  )
  const url = yield* server
  const files = ["--approvals", join(folder, "approvals.json"), "--audit", join(folder, "audit.jsonl")]
  const computer = ["--server", url, "--name", "desk", "--config", config, "--approvers", "agent", "--interactive"]
  const desk = yield* a2c("computer", ...computer, ...files)
  yield* desk.types("join o")
  yield* desk.prints("joined office o")
  // One Agent serves all commands of an office: they share its connection.
  const variables = { XDG_RUNTIME_DIR: folder }
  const agent = (...args: ReadonlyArray<string>) =>
    node([cli, "agent", "--server", url, "--office", "o", ...args], variables)
  const run = (...args: ReadonlyArray<string>) => Effect.flatMap(agent(...args), outcomeOf)
  /** Calls the tool, and gives the id of its approval. */
  const call = Effect.fnUntraced(function* (text: string) {
    const calling = yield* agent("call", "write", `text=${text}`)
    yield* calling.prints("waiting for an approval at desk", "stderr")
    // The call shares its connection shortly after it prints that it waits.
    const { stdout } = yield* Effect.repeat(run("approvals"), { until: ({ code }) => code === 0 })
    return { calling, id: stdout.split(" ", 1)[0] ?? "" }
  })
  const audit = () =>
    readFileSync(join(folder, "audit.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { agent, audit, call, desk, run }
})

describe("approval of a tool that changes", () => {
  it.live("is needed again, and shows the change", () =>
    Effect.gen(function* () {
      const { audit, call, desk, run } = yield* office
      const first = yield* call("one")
      assert.match((yield* run("approvals", "show", first.id)).stdout, /^arguments:\n {2}\{\n {4}"text": "one"/m)
      assert.include((yield* run("approvals", "allow", first.id, "always")).stdout, "write: allowed by agent")
      assert.strictEqual(yield* first.calling.ended, 0)
      assert.include(first.calling.stdout(), "written: one")

      // The call changed the description: the grant does not cover the tool any more.
      const second = yield* call("two")
      const { stdout } = yield* run("approvals", "show", second.id)
      assert.match(stdout, /^description before +Writes a note\.$/m)
      assert.match(stdout, /^description now +Writes a note, and sends it to 1 others\.$/m)
      yield* desk.types(`approvals ${second.id}`)
      yield* desk.prints('+   "text": "two"')
      assert.match(desk.stdout(), /^description now +Writes a note, and sends it to 1 others\.$/m)
      assert.match(desk.stdout(), /^- {3}"text": "one"$/m)
      yield* desk.types(`deny ${second.id} not to others`)
      assert.strictEqual(yield* second.calling.ended, 2)
      assert.include(second.calling.stderr(), "Tool 'write' was not confirmed: not to others")

      const decisions = yield* Effect.repeat(Effect.sync(audit), {
        until: ({ length }) => length > 1,
        schedule: Schedule.spaced("20 millis")
      })
      assert.deepStrictEqual(
        decisions.map(({ action, by }) => `${String(action)} by ${String(by)}`),
        ["allow by agent a2c-agent", "deny by terminal"]
      )
    })
  )
})

describe("call that waits for an approval", () => {
  it.live("leaves the connection of a running command to the others", () =>
    Effect.gen(function* () {
      const { agent, call, run } = yield* office
      const watch = yield* agent("watch", "--log-level", "debug")
      yield* watch.prints("joined office", "stderr")
      yield* Effect.repeat(run("members"), { until: ({ code }) => code === 0 })
      const { calling, id } = yield* call("one")
      yield* run("approvals", "allow", id)
      assert.strictEqual(yield* calling.ended, 0)
      const { code, stderr, stdout } = yield* run("members")
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.include(stdout, "a2c-agent")
    })
  )
})
