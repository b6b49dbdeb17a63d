import { assert, describe, it } from "@effect/vitest"
import { Clock, ConfigProvider, Effect } from "effect"
import type { ComputerOptions, RunningComputer } from "../../../../src/main/entrypoints/promise.ts"
import { hangingTool, textResult, tool } from "../../../conformance/members.ts"
import { inOffice, type PromiseOffice } from "../../promise/promiseOffice.ts"
import { a2cInProcess, a2cRunning, messageOf, type Outcome } from "../inProcess.ts"
import { joinSilently } from "./silentComputer.ts"

/** A form that a list of approvals omits, because it is long. */
const schema = {
  type: "object",
  properties: { count: { type: "integer", title: "x".repeat(20_000) } },
  required: ["count"]
}

const tools = [
  tool("write", () => Effect.succeed(textResult("written"))),
  tool("half", (_, { progress }) => Effect.andThen(progress({ progress: 1, total: 2, message: "half" }), Effect.never)),
  tool("ask", (_, { ask }) =>
    Effect.map(ask({ mode: "form", message: "how many?", schema }), (answer) => textResult(JSON.stringify(answer)))
  ),
  Effect.runSync(hangingTool("hang")).hanging
]

type Run = (...words: ReadonlyArray<string>) => Promise<Outcome>

/** Repeats a command until its outcome fits; gives its output. */
const until = async (run: () => Promise<Outcome>, fits: (outcome: Outcome) => boolean): Promise<string> => {
  const outcome = await run()
  return fits(outcome) ? outcome.stdout : until(run, fits)
}

/** A clock that is ahead of the clock of the machine. */
const clockAhead = (millis: number): Clock.Clock => {
  const real = Effect.runSync(Clock.clockWith(Effect.succeed))
  const now = () => real.currentTimeMillisUnsafe() + millis
  return Object.assign(Object.create(real), { currentTimeMillisUnsafe: now, currentTimeMillis: Effect.sync(now) })
}

interface Desk {
  readonly computer: RunningComputer
  /** Runs a command as one that is called this much later. */
  readonly runAfter: (millis: number, ...words: ReadonlyArray<string>) => Promise<Outcome>
}

/** The commands of an Agent in an office with the Computer `desk`. */
const withDesk = (
  use: (run: Run, office: PromiseOffice, desk: Desk) => Promise<void>,
  options: Partial<ComputerOptions> = {}
) =>
  inOffice(async (office) => {
    const alpha = await office.mcpServer({ tools })
    const computer = await office.computer({ config: { servers: { alpha } }, approve: ["*"], ...options })
    const user = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { XDG_RUNTIME_DIR: await office.folder() } }))
    const words = ["agent", "--server", office.server.url, "--office", "team"]
    const command = (more: ReadonlyArray<string>) =>
      Effect.provide(Effect.scoped(a2cInProcess(...words, ...more)), user)
    const run: Run = (...more) => Effect.runPromise(command(more))
    const runAfter: Desk["runAfter"] = (millis, ...more) =>
      Effect.runPromise(Effect.provideService(command(more), Clock.Clock, clockAhead(millis)))
    if (options.approvers !== undefined || options.onInput !== undefined) {
      // Approvals of started calls are open while their Agent is connected.
      const watching = Effect.provide(a2cRunning(...words, "watch", "--log-level", "debug"), user)
      const { prints } = await office.acquire(watching)
      await Effect.runPromise(prints("joined office", "stderr"))
      await until(
        () => run("members"),
        ({ failure }) => failure === undefined
      )
    }
    await use(run, office, { computer, runAfter })
  })

/** Starts a call; gives the ID of its task. */
const start = async (run: Run, ...words: ReadonlyArray<string>): Promise<string> => {
  const { failure, stdout } = await run("start", ...words)
  assert.isUndefined(failure)
  assert.match(stdout, /^\S+@desk\n$/)
  return stdout.trim()
}

describe("a2c agent start", () => {
  it("prints the ID and the Computer as JSON", () =>
    withDesk(async (run) => {
      const { computer, id, ...others } = JSON.parse((await run("--json", "start", "write")).stdout)
      assert.deepStrictEqual([computer, others], ["desk", {}])
      assert.include((await run("task", id)).stdout, "written")
    }))

  it("ends the call after its timeout", () =>
    withDesk(async (run) => {
      const ended = await run("task", await start(run, "hang", "--timeout", "1"))
      assert.strictEqual(messageOf(ended.failure), "Tool call timeout")
    }))

  it("fails for a Computer that runs no calls beyond the command", () =>
    withDesk(async (run, office) => {
      const replyTo = (event: string, reqId: string, reply: (value: unknown) => void) => {
        if (event === "client:get_tools") reply({ tools: [], req_id: reqId })
      }
      await office.acquire(joinSilently(office.server.url, "plain", replyTo, "team"))
      const failed = await run("start", "any", "--computer", "plain", "--args", "{}")
      assert.strictEqual(messageOf(failed.failure), "Computer 'plain' runs no calls beyond this command: use 'call'")
    }))
})

describe("a2c agent task", () => {
  it("prints the state of a call, and its progress", () =>
    withDesk(async (run) => {
      const id = await start(run, "half")
      const printed = await until(
        () => run("task", id, "--status"),
        ({ stdout }) => stdout.includes("progress")
      )
      assert.match(printed, /^working after \S+, progress 1 half\n$/)
      const status = JSON.parse((await run("--json", "task", id, "--status")).stdout)
      assert.deepInclude(status, { tool: "half", state: "working" })
      assert.deepInclude(status.latest, { progress: 1, total: 2, message: "half" })
      assert.match((await run("task", id, "--cancel")).stdout, /^cancelled after /)
      assert.match(messageOf((await run("task", id)).failure), /cancelled/)
    }))

  it("names a wrong ID", () =>
    withDesk(async (run) => {
      assert.strictEqual(
        messageOf((await run("task", "3f2a")).failure),
        "'3f2a' must be the ID of a started call, such as 3f2a@desk"
      )
      assert.include(messageOf((await run("task", "3f2a@desk")).failure), "does not know this task")
    }))
})

describe("a2c agent approvals", () => {
  const waiting: Partial<ComputerOptions> = { approvers: ["agent"] }
  const open = (run: Run, words: string) =>
    until(
      () => run("approvals"),
      ({ stdout }) => stdout.includes(words)
    )

  it("lists and shows what waits, and prints its decision", () =>
    withDesk(
      async (run) => {
        const task = await start(run, "write", "text=hello")
        const [short = "", name, , computer] = (await open(run, "write")).trim().split(/ +/)
        assert.deepStrictEqual([short.length, computer, name], [8, "desk", "write"])
        const [listed] = JSON.parse((await run("--json", "approvals")).stdout)
        assert.deepInclude(listed, { computer: "desk", tool: "write", requester: "a2c-agent", state: "open" })
        assert.isTrue(listed.id.startsWith(short))
        assert.include((await run("approvals", "show", short)).stdout, '"text": "hello"')
        assert.strictEqual((await run("approvals", "allow", short)).stdout, "write: allowed by agent a2c-agent\n")
        assert.include((await run("task", task)).stdout, "written")
        assert.strictEqual(
          (await run("approvals")).stdout,
          "no call of this Agent waits for an approval that it may decide (a2c computer --approvers agent)\n"
        )
        assert.include(messageOf((await run("approvals", "allow", short)).failure), `with the id '${short}'`)
      },
      { ...waiting, approve: [] }
    ))

  it("allows a tool for a time from the decision on", () =>
    withDesk(
      async (run, _, { computer, runAfter }) => {
        const task = await start(run, "write")
        const [short = ""] = (await open(run, "write")).split(" ")
        const decidedAt = Date.now() + 3_600_000
        assert.isUndefined((await runAfter(3_600_000, "approvals", "allow", short, "5m")).failure)
        const [grant] = await computer.grants()
        assert.isAtLeast(grant?.until ?? 0, decidedAt + 300_000)
        assert.include((await run("task", task)).stdout, "written")
      },
      { ...waiting, approve: [] }
    ))

  it("denies with a reason, as JSON", () =>
    withDesk(
      async (run) => {
        const task = await start(run, "write")
        const [short = ""] = (await open(run, "write")).split(" ")
        const denied = JSON.parse((await run("--json", "approvals", "deny", short, "not", "today")).stdout)
        assert.deepInclude(denied, { tool: "write", state: "denied", decidedBy: "agent a2c-agent" })
        assert.include(messageOf((await run("task", task)).failure), "not today")
      },
      { ...waiting, approve: [] }
    ))

  it("answers a question by its whole form, which the list omits", () =>
    withDesk(
      async (run) => {
        const task = await start(run, "ask")
        const [short = ""] = (await open(run, "question")).split(" ")
        const [listed] = JSON.parse((await run("--json", "approvals")).stdout)
        assert.notProperty(listed.input, "schema")
        assert.strictEqual(
          (await run("approvals", "answer", short, "count=3")).stdout,
          "ask: answered by agent a2c-agent\n"
        )
        assert.include((await run("task", task)).stdout, '{"count":3}')
      },
      { onInput: () => new Promise(() => undefined) }
    ))
})
