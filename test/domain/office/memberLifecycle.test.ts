import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { retryableMessage } from "../../../src/domain/model/ProtocolError.ts"
import {
  hasJoined,
  initialMember,
  type JoinFailure,
  type MemberCommand,
  type MemberEvent,
  type MemberState,
  memberTransition
} from "../../../src/domain/office/memberLifecycle.ts"

type State<Tag> = Extract<MemberState, { readonly _tag: Tag }>
type History = State<"Connecting">["history"]
type Event = MemberEvent<JoinFailure>
type Command = MemberCommand<JoinFailure>

const unreachable: JoinFailure = { _tag: "Unreachable", message: "connection refused" }
const noAddress: JoinFailure = { _tag: "Unreachable", message: "no address", permanent: true }
const certificate: JoinFailure = { ...noAddress, reason: "untrusted_certificate" }
const unauthorized: JoinFailure = { _tag: "AdmissionRejected", message: "no", code: 401 }
const renewed: JoinFailure = { ...unauthorized, retryable: true }
const proxy: JoinFailure = { _tag: "AdmissionRejected", message: "not found", code: 404 }
const full: JoinFailure = { _tag: "JoinRejected", message: "Office 'O' is full" }
const busy: JoinFailure = { _tag: "JoinRejected", message: retryableMessage("too many offices") }
const current = { name: "other" }
const taken: JoinFailure = { _tag: "JoinRejected", message: "taken", current }
const version: JoinFailure = { _tag: "VersionRejected", message: "0.1 only" }

/** Whether the failure of a first join that is retried, and of a rejoin, is temporary. */
const failures: ReadonlyArray<readonly [JoinFailure, first: boolean, rejoin: boolean]> = [
  [unreachable, true, true],
  [noAddress, false, false],
  [certificate, false, true],
  [unauthorized, false, false],
  [renewed, true, true],
  [proxy, false, true],
  [full, false, true],
  [busy, true, true],
  [version, false, false]
]

const fresh: History = {
  retriesFirstJoin: true,
  hasJoined: false,
  failures: 0,
  reasons: [],
  placeWaits: 0,
  shortLived: 0
}
const joinedBefore: History = { ...fresh, retriesFirstJoin: false, hasJoined: true }
const connecting = (history: History, isReplaced = false): MemberState => ({ _tag: "Connecting", history, isReplaced })
const joined = (history: History, isReplaced = false): MemberState => ({ _tag: "Joined", history, isReplaced })
const waiting = (history: History, attempt: number, reason: State<"Waiting">["for"] = "server"): MemberState => ({
  _tag: "Waiting",
  history,
  for: reason,
  attempt
})
const ended: MemberState = { _tag: "Ended" }

const failed = (failure: JoinFailure, placeMillis = 0): Event => ({ _tag: "JoinFailed", failure, placeMillis })
const lost = (lastedMillis: number): Event => ({ _tag: "Lost", reason: "gone", lastedMillis })
const loss: Command = { _tag: "AnnounceLoss", reason: "gone" }
const replaced: Event = { _tag: "Replaced" }
const waitOver: Event = { _tag: "WaitOver" }

type Row = readonly [title: string, MemberState, Event, next: MemberState, commands: ReadonlyArray<Command>]

const many: History = { ...fresh, failures: 3, reasons: ["connection refused"], placeWaits: 2, shortLived: 1 }

const rows: ReadonlyArray<Row> = [
  [
    "a first join",
    connecting(many),
    { _tag: "Joined" },
    joined({ ...many, hasJoined: true, failures: 0, reasons: [] }),
    [{ _tag: "AnnounceJoin", isRejoin: false }]
  ],
  [
    "a rejoin, of a connection that is replaced already",
    connecting(joinedBefore, true),
    { _tag: "Joined" },
    joined(joinedBefore, true),
    [{ _tag: "AnnounceJoin", isRejoin: true }]
  ],
  ["a takeover during a join", connecting(fresh), replaced, connecting(fresh, true), []],
  ["a takeover", joined(joinedBefore), replaced, joined(joinedBefore, true), []],
  ["a takeover of a lost connection", waiting(fresh, 1), replaced, waiting(fresh, 1), []],
  ["a loss after a takeover", joined(joinedBefore, true), lost(5000), ended, [loss, { _tag: "GiveWay" }]],
  [
    "the loss of a stable membership",
    joined({ ...joinedBefore, shortLived: 4 }),
    lost(2000),
    connecting(joinedBefore),
    [loss]
  ],
  [
    "the first short membership",
    joined(joinedBefore),
    lost(1999),
    connecting({ ...joinedBefore, shortLived: 1 }),
    [loss]
  ],
  [
    "the second short membership",
    joined({ ...joinedBefore, shortLived: 1 }),
    lost(0),
    waiting({ ...joinedBefore, shortLived: 2 }, 1),
    [loss]
  ],
  [
    "the fourth short membership",
    joined({ ...joinedBefore, shortLived: 3 }),
    lost(0),
    waiting({ ...joinedBefore, shortLived: 4 }, 3),
    [loss]
  ],
  [
    "the first failure",
    connecting(fresh, true),
    failed(unreachable),
    waiting({ ...fresh, failures: 1, reasons: ["connection refused"] }, 1),
    [{ _tag: "LogRetry", reason: "connection refused" }]
  ],
  ["a failure that is logged", connecting(many), failed(unreachable), waiting({ ...many, failures: 4 }, 4), []],
  [
    "a failure with a new reason",
    connecting(many),
    failed(busy),
    waiting({ ...many, failures: 4, reasons: ["connection refused", busy.message] }, 4),
    [{ _tag: "LogRetry", reason: busy.message }]
  ],
  [
    "the first rejection of a first join by another member",
    connecting({ ...fresh, failures: 3 }),
    failed(taken, 1),
    waiting({ ...fresh, placeWaits: 1 }, 1, "place"),
    [{ _tag: "LogPlaceTaken", current }]
  ],
  [
    "a further one",
    connecting(many),
    failed(taken, 1),
    waiting({ ...many, failures: 0, placeWaits: 3 }, 3, "place"),
    []
  ],
  ["one at the end of the wait", connecting(many), failed(taken), ended, [{ _tag: "FailFirstJoin", failure: taken }]],
  [
    "a rejection without a member",
    connecting(fresh),
    failed(full, 1),
    ended,
    [{ _tag: "FailFirstJoin", failure: full }]
  ],
  [
    "a temporary failure of a first join that is not retried",
    connecting({ ...fresh, retriesFirstJoin: false }),
    failed(unreachable, 1),
    ended,
    [{ _tag: "FailFirstJoin", failure: unreachable }]
  ],
  [
    "a rejection of a rejoin by another member",
    connecting(joinedBefore),
    failed(taken, 1),
    waiting({ ...joinedBefore, failures: 1, reasons: ["taken"] }, 1),
    [{ _tag: "LogRetry", reason: "taken" }]
  ],
  ["the end of a wait", waiting(many, 3), waitOver, connecting(many), []],
  ["the end of a wait for its place", waiting(many, 3, "place"), waitOver, connecting(many), []]
]

describe("the life of a membership", () => {
  it.each([true, false])("begins with an attempt to connect, which is retried: %s", (retriesFirstJoin) => {
    assert.deepStrictEqual(initialMember(retriesFirstJoin), connecting({ ...fresh, retriesFirstJoin }))
  })

  it.each(rows)("goes on after %s", (_, state, event, next, commands) => {
    assert.deepStrictEqual(memberTransition(state, event), [next, commands])
  })

  it.each(failures)("ends with a permanent failure of a first join, and retries others: %j", (failure, isRetried) => {
    const [next, commands] = memberTransition(connecting(fresh), failed(failure))
    assert.strictEqual(next._tag, isRetried ? "Waiting" : "Ended")
    assert.deepStrictEqual(
      commands,
      isRetried ? [{ _tag: "LogRetry", reason: failure.message }] : [{ _tag: "FailFirstJoin", failure }]
    )
  })

  it.each(failures)("ends with a permanent failure of a rejoin, and retries others: %j", (failure, _, isRetried) => {
    const [next, commands] = memberTransition(connecting(joinedBefore), failed(failure, 1))
    assert.strictEqual(next._tag, isRetried ? "Waiting" : "Ended")
    assert.deepStrictEqual(
      commands,
      isRetried ? [{ _tag: "LogRetry", reason: failure.message }] : [{ _tag: "FailRejoin", failure }]
    )
  })

  const unexpected: ReadonlyArray<readonly [MemberState, ReadonlyArray<Event>]> = [
    [connecting(fresh), [lost(1), waitOver]],
    [joined(fresh), [{ _tag: "Joined" }, failed(unreachable), waitOver]],
    [waiting(fresh, 1), [{ _tag: "Joined" }, failed(unreachable), lost(1)]],
    [ended, [{ _tag: "Joined" }, failed(unreachable), replaced, lost(1), waitOver]]
  ]
  it.each(unexpected.flatMap(([state, events]) => events.map((event) => [state, event] as const)))(
    "ignores what cannot happen: in %j, %j",
    (state, event) => {
      assert.deepStrictEqual(memberTransition(state, event), [state, []])
    }
  )

  it("has joined after its first join, and not after its end", () => {
    assert.deepStrictEqual(
      [fresh, joinedBefore].map((history) => hasJoined(waiting(history, 1))),
      [false, true]
    )
    assert.isFalse(hasJoined(ended))
  })

  const Step = Schema.Union([
    Schema.Struct({ _tag: Schema.Literals(["Joined", "Replaced", "WaitOver"]) }),
    Schema.Struct({ _tag: Schema.Literal("Lost"), reason: Schema.String, lastedMillis: Schema.Literals([0, 2000]) }),
    Schema.Struct({
      _tag: Schema.Literal("JoinFailed"),
      failure: Schema.Literals(failures.map((_, index) => index)),
      placeMillis: Schema.Literals([0, 1])
    })
  ])
  it.prop(
    "announces joins and losses by turns, and ends once",
    [Schema.Boolean, Schema.Array(Step)],
    ([retries, steps]) => {
      let state = initialMember(retries)
      const announced: Array<string> = []
      let ends = 0
      for (const step of steps) {
        const event: Event =
          step._tag === "JoinFailed" ? { ...step, failure: failures[step.failure]?.[0] ?? taken } : step
        const [next, commands] = memberTransition(state, event)
        state = next
        for (const { _tag } of commands) {
          if (_tag === "AnnounceJoin" || _tag === "AnnounceLoss") announced.push(_tag)
          if (_tag === "FailFirstJoin" || _tag === "FailRejoin" || _tag === "GiveWay") ends += 1
        }
      }
      assert.isTrue(announced.every((tag, index) => tag === (index % 2 === 0 ? "AnnounceJoin" : "AnnounceLoss")))
      assert.strictEqual(ends, state._tag === "Ended" ? 1 : 0)
    }
  )
})
