import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import type { OptionsOf } from "../../../../src/main/cli/agent/flags.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { type FlagRows, testFlags } from "../flagRows.ts"
import { a2cInProcess, a2cRunning, deskInProcess, type Outcome, serverInProcess } from "../inProcess.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"

/** The commands of one user in an office whose Agents decide about their calls, and the id of a started call. */
const started = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const url = yield* serverInProcess
  const alpha = { type: "stdio", server_parameters: { command: "-" } }
  const write = tool("write", () => Effect.succeed(textResult("ran")))
  yield* deskInProcess({ url, office: "o" }, [write], { servers: { alpha }, settings: { approvers: ["agent"] } })
  const user = Effect.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: { XDG_RUNTIME_DIR: folder } })))
  const place = ["agent", "--server", url, "--office", "o"]
  const run = (...args: ReadonlyArray<string>) => user(a2cInProcess(...place, ...args))
  const start = (...args: ReadonlyArray<string>) => user(a2cRunning(...place, ...args))
  /** The id of the approval, once a command that waits has shared its connection. */
  const approval = Effect.map(
    Effect.repeat(run("approvals"), { until: ({ stdout }) => stdout.includes("write") }),
    ({ stdout }) => stdout.split(" ", 1)[0] ?? ""
  )
  return { run, start, approval }
})

const decisions = [
  ["deny", ["not", "today"], "CommandFailed: Tool 'write' was not confirmed: not today"],
  ["deny", [], "CommandFailed: Tool 'write' was not confirmed"],
  ["allow", [], "ran"],
  ["allow", ["2h"], "ran"]
] as const

const outcome = ({ failure, stdout }: Pick<Outcome, "failure" | "stdout">) =>
  failure instanceof Error ? String(failure) : stdout.trim()

/** What a command prints that waits for a started call, about which another command decides. */
const decidedWhileWaiting = Effect.fnUntraced(function* (action: string, words: ReadonlyArray<string>) {
  const { approval, run, start } = yield* started
  const id = (yield* run("start", "write")).stdout.trim()
  const { ended, prints, stdout } = yield* start("task", id)
  yield* prints("waiting for an approval", "stderr")
  const { failure } = yield* run("approvals", action, yield* approval, ...words)
  assert.isUndefined(failure)
  return outcome({ failure: yield* ended, stdout: stdout() })
})

const approvalsRows: FlagRows<Pick<OptionsOf<"approvals">, "words">> = {
  words: [["not", "today"], [decisions[1][2], decisions[0][2]], (given) => decidedWhileWaiting("deny", given)]
}

describe("a flag of a2c agent approvals", () => {
  testFlags(approvalsRows)
})

describe("a started call that waits for an approval", () => {
  it.live.each(decisions)("ends for the command that waits with `%s`, %j", ([action, words, expected]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* decidedWhileWaiting(action, words), expected)
    })
  )

  it.live.each(decisions)("ends before a command waits with `%s`, %j", ([action, words, expected]) =>
    Effect.gen(function* () {
      const { approval, run, start } = yield* started
      const { prints } = yield* start("watch", "--log-level", "debug")
      yield* prints("joined office", "stderr")
      // The connection is shared shortly after it joins.
      yield* Effect.repeat(run("members"), { until: ({ failure }) => failure === undefined })
      const id = (yield* run("start", "write")).stdout.trim()
      assert.isUndefined((yield* run("approvals", action, yield* approval, ...words)).failure)
      assert.strictEqual(outcome(yield* run("task", id)), expected)
    })
  )
})
