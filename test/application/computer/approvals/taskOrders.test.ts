import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Result } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { type AuditEvent, AuditLog } from "../../../../src/application/ports/AuditLog.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { joined, link, nextApproval, openApprovals } from "../testComputer.ts"

/** What happens to a task that waits for an approval, or has got one. */
type Event = "allow" | "deny" | "own allow" | "expire" | "leave" | "cancel"

/** The tool runs until the end of the test, or ends at once. */
type Kind = "long" | "short"

const start = { id: "t1", tool: "work", params: {}, timeout: 600, inputModes: ["form"] }

/** A task of the Agent `brain` that waits for an approval, for a minute at most. */
const waitingTask = Effect.fnUntraced(function* (kind: Kind) {
  let runs = 0
  let interruptions = 0
  const ended = yield* Deferred.make<void>()
  const work = tool("work", () =>
    Effect.suspend(() => {
      runs++
      return kind === "long" ? Deferred.await(ended) : Effect.void
    }).pipe(
      Effect.as(textResult("done")),
      Effect.onInterrupt(() => Effect.sync(() => void interruptions++))
    )
  )
  const alpha = yield* makeMemoryMcpServer({ tools: [work] })
  const audited: Array<unknown> = []
  const record = ({ fields }: AuditEvent) => void audited.push(fields["action"])
  const { computer, receive, request } = yield* joined(
    { servers: { alpha }, settings: { approvers: ["page", "agent"], approvalTimeout: Duration.minutes(1) } },
    Effect.succeed(link)
  ).pipe(Effect.provideService(AuditLog, { record, lostCount: () => 0 }))
  const task = (method: string, params: JsonObject) =>
    Effect.map(request("client:mcp", { agent: "brain", method, params }), (reply) =>
      asObject(asObject(reply)["result"])
    )
  yield* task("tasks/start", start)
  const { id } = yield* nextApproval(computer)
  const decide = (action: "allow" | "deny") =>
    Effect.map(
      Effect.result(
        computer.decideApproval(id, action === "allow" ? { action, scope: "once" } : { action }, "operator:ann")
      ),
      (outcome) => (Result.isSuccess(outcome) ? undefined : outcome.failure.code)
    )
  const acts: { readonly [E in Event]: Effect.Effect<unknown, unknown> } = {
    allow: decide("allow"),
    deny: decide("deny"),
    "own allow": Effect.map(
      request("client:decide_approval", { agent: "brain", approval_id: id, action: "allow" }),
      (reply) => asObject(reply)["code"]
    ),
    expire: Effect.as(TestClock.adjust("1 minute"), undefined),
    leave: Effect.as(receive("notify:leave_office", { office_id: "o", agent: "brain" }), undefined),
    cancel: Effect.as(task("tasks/cancel", { id: "t1" }), undefined)
  }
  const outcome = Effect.gen(function* () {
    yield* Deferred.succeed(ended, undefined)
    yield* TestClock.adjust(0)
    const { result, state } = yield* task("tasks/get", { id: "t1" })
    const [text] = /done|not confirmed in time|not confirmed/.exec(JSON.stringify(result ?? null)) ?? []
    const isOpen = (yield* openApprovals(computer)).length > 0
    return { state, text, runs, interruptions, decisions: audited.length, isOpen }
  })
  return { acts, outcome }
})

type Phase = "open" | "running" | "done" | "denied" | "late" | "cancelled" | "interrupted"

/** The state of the task after an event: the first end of the approval counts, and the first end of the task. */
const next = (phase: Phase, event: Event, hasLeft: boolean, kind: Kind): Phase => {
  if (phase === "running") return event === "cancel" ? "interrupted" : phase
  if (phase !== "open" || event === "leave" || (event === "own allow" && hasLeft)) return phase
  if (event === "expire") return "late"
  if (event === "deny") return "denied"
  return event === "cancel" ? "cancelled" : kind === "long" ? "running" : "done"
}

const phaseAfter = (events: ReadonlyArray<Event>, kind: Kind): Phase => {
  const step = (phase: Phase, event: Event, index: number) =>
    next(phase, event, events.slice(0, index).includes("leave"), kind)
  const phase = events.reduce<Phase>(step, "open")
  return phase === "running" ? "done" : phase
}

const expected = (phase: Phase) => {
  const isEnded = phase === "done" || phase === "denied" || phase === "late"
  const texts: { readonly [P in Phase]?: string } = {
    done: "done",
    denied: "not confirmed",
    late: "not confirmed in time"
  }
  return {
    state: phase === "open" ? "working" : isEnded ? "completed" : "cancelled",
    text: texts[phase],
    runs: phase === "done" || phase === "interrupted" ? 1 : 0,
    interruptions: phase === "interrupted" ? 1 : 0,
    decisions: phase === "open" ? 0 : 1,
    isOpen: phase === "open"
  }
}

/** All orders of some of these events. */
const ordersOf = (events: ReadonlyArray<Event>): ReadonlyArray<ReadonlyArray<Event>> => [
  [],
  ...events.flatMap((event) => ordersOf(events.filter((other) => other !== event)).map((rest) => [event, ...rest]))
]

const orders = (["allow", "deny", "own allow"] as const).flatMap((decision) =>
  ordersOf([decision, "expire", "leave", "cancel"]).filter((order) => decision === "allow" || order.includes(decision))
)

describe("task whose approval ends", () => {
  it.effect.each(
    orders.flatMap((order) => (["long", "short"] as const).map((kind) => [order.join(", "), kind, order] as const))
  )("has one outcome, after: %s (%s)", ([, kind, order]) =>
    Effect.gen(function* () {
      const { acts, outcome } = yield* waitingTask(kind)
      for (const event of order) {
        yield* acts[event]
        yield* TestClock.adjust(0)
      }
      assert.deepStrictEqual<unknown>(yield* outcome, expected(phaseAfter(order, kind)))
    })
  )

  it.effect.each([
    ["allow", "expire", 409],
    ["allow", "cancel", 409],
    ["own allow", "leave", 404]
  ] as const)("rejects the decision %s after %s with %i", ([decision, event, code]) =>
    Effect.gen(function* () {
      const { acts } = yield* waitingTask("short")
      yield* acts[event]
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* acts[decision], code)
    })
  )
})
