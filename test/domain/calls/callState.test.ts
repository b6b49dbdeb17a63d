import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  acceptCall,
  type CallAct,
  type CallCommand,
  type CallEvent,
  type CallState,
  isPaused,
  timeLeft,
  transitionCall,
  waitLimit
} from "../../../src/domain/calls/callState.ts"

const second = 1000
const minute = 60 * second
const hour = 60 * minute

const tags = ["ServersAwaited", "ServersReady", "ConsentAwaited", "ConsentDecided", "Started", "Elicited"] as const
const laterTags = ["AnswerAwaited", "Answered", "Extended", "Progressed", "TimePassed"] as const
type Tag = Exclude<CallAct["_tag"], "Returned">

const done: CallAct = { _tag: "Returned", outcome: "done" }

/** A call that arrives at 0 with a timeout of a minute, after acts at their times. */
const run = (...acts: ReadonlyArray<readonly [at: number, act: Tag | CallAct]>): CallState =>
  acts.reduce((state, [at, act]) => transitionCall(state, eventOf(act, at))[0], acceptCall(0, minute, 5 * minute))

const eventOf = (act: Tag | CallAct, at: number): CallEvent => ({
  ...(typeof act === "string" ? { _tag: act } : act),
  at
})

const states: { readonly [T in CallState["_tag"]]: CallState } = {
  Preparing: run(),
  WaitingForServers: run([1, "ServersAwaited"]),
  WaitingForConsent: run([1, "ConsentAwaited"]),
  Running: run([1, "Started"]),
  WaitingForElicitation: run([1, "Started"], [2, "AnswerAwaited"]),
  Ended: run([1, "Started"], [2, done])
}

/** What each act at 2 seconds leads to: the next state, and the command. An act without a row changes nothing. */
const rows: ReadonlyArray<readonly [CallState["_tag"], CallAct["_tag"], CallState["_tag"], CallCommand["_tag"]?]> = [
  ["Preparing", "ServersAwaited", "WaitingForServers"],
  ["Preparing", "ConsentAwaited", "WaitingForConsent", "Wait"],
  ["Preparing", "Started", "Running"],
  ["WaitingForServers", "ServersReady", "Preparing"],
  ["WaitingForConsent", "ConsentDecided", "Preparing"],
  ["WaitingForConsent", "Extended", "WaitingForConsent"],
  ["Running", "Elicited", "Running", "Elicit"],
  ["Running", "AnswerAwaited", "WaitingForElicitation", "Wait"],
  ["Running", "Progressed", "Running", "ReportProgress"],
  ["Running", "Returned", "Ended", "Record"],
  ["WaitingForElicitation", "Answered", "Running"],
  ["WaitingForElicitation", "Elicited", "WaitingForElicitation", "Elicit"],
  ["WaitingForElicitation", "Extended", "WaitingForElicitation"],
  ["WaitingForElicitation", "Progressed", "WaitingForElicitation", "ReportProgress"],
  ["WaitingForElicitation", "Returned", "Ended", "Record"]
]

const acts: ReadonlyArray<Tag | CallAct> = [...tags, ...laterTags, done]

describe("transitionCall", () => {
  const cases = Object.values(states).flatMap((state) => acts.map((act) => [state, eventOf(act, 2 * second)] as const))

  it.each(cases.map(([state, event]) => [state._tag, event._tag, state, event] as const))(
    "leads a call in the state %s after %s to its row",
    (from, act, state, event) => {
      const row = rows.find(([rowFrom, rowAct]) => rowFrom === from && rowAct === act)
      const [next, command] = transitionCall(state, event)
      if (row === undefined) {
        assert.strictEqual(next, state)
        assert.isUndefined(command)
        return
      }
      assert.deepStrictEqual([next._tag, command?._tag], [row[2], row[3]])
    }
  )

  it.each([
    ["done", done],
    ["failed", { _tag: "Returned", outcome: "failed" }],
    ["cancelled", { _tag: "Returned", outcome: "cancelled" }]
  ] as const)("records how a call ended: %s", (outcome, act) => {
    assert.deepStrictEqual(transitionCall(states.Running, { ...act, at: 3 })[1], { _tag: "Record", outcome })
  })
})

describe("time of a call", () => {
  const timedOut = { _tag: "Record", outcome: "timed_out" } as const
  const commandAt = (state: CallState, act: Tag, at: number) => transitionCall(state, eventOf(act, at))[1]

  it("is over at its timeout, while it runs or an elicitation waits", () => {
    for (const state of [states.Running, states.WaitingForElicitation]) {
      assert.isUndefined(commandAt(state, "TimePassed", minute - 1))
      assert.deepStrictEqual(commandAt(state, "TimePassed", minute), timedOut)
      assert.strictEqual(transitionCall(state, eventOf("TimePassed", minute))[0]._tag, "Ended")
    }
    for (const state of [states.Preparing, states.WaitingForServers, states.WaitingForConsent, states.Ended]) {
      assert.strictEqual(transitionCall(state, eventOf("TimePassed", hour))[0], state)
    }
  })

  it("decreases to zero", () => {
    assert.deepStrictEqual([timeLeft(run(), 0), timeLeft(run(), second), timeLeft(run(), hour)], [minute, 59_000, 0])
  })

  it.each<[string, ReadonlyArray<readonly [number, Tag]>, Tag]>([
    ["consent", [[10 * second, "ConsentAwaited"]], "ConsentDecided"],
    [
      "an elicitation",
      [
        [0, "Started"],
        [10 * second, "AnswerAwaited"]
      ],
      "Answered"
    ]
  ])("does not count from the start of a wait for %s on, when the caller waits longer", (_, before, end) => {
    const waiting = run(...before)
    assert.deepStrictEqual([isPaused(waiting), timeLeft(waiting, 20 * second)], [false, 40 * second])
    const extended = run(...before, [20 * second, "Extended"])
    assert.deepStrictEqual([isPaused(extended), timeLeft(extended, 4 * minute)], [true, 50 * second])
    assert.isUndefined(commandAt(extended, "TimePassed", hour))
    const after = run(...before, [20 * second, "Extended"], [4 * minute, end])
    assert.isFalse(isPaused(after))
    assert.deepStrictEqual(
      [timeLeft(after, 4 * minute), timeLeft(after, 4 * minute + second)],
      [50 * second, 49 * second]
    )
    const unaware = run(...before, [20 * second, end])
    assert.strictEqual(timeLeft(unaware, 20 * second), 40 * second)
  })

  it("counts again when the call ends while an elicitation waits", () => {
    const ended = run([0, "Started"], [10 * second, "AnswerAwaited"], [10 * second, "Extended"], [minute, done])
    assert.deepStrictEqual([isPaused(ended), timeLeft(ended, minute)], [false, 50 * second])
  })

  it("is not over after a wait that began with its last millisecond", () => {
    const state = run([0, "Started"], [minute, "AnswerAwaited"], [minute, "Extended"])
    assert.isUndefined(commandAt(state, "TimePassed", minute))
  })

  it.each([
    [minute, minute - 2 * second],
    [20 * second, 18 * second],
    [10 * second, 9 * second],
    [0, 0]
  ])("leaves some of %i milliseconds after a wait", (left, limit) => {
    assert.strictEqual(waitLimit(left), limit)
  })
})

describe("wait for an approval", () => {
  const waitOf = (state: CallState, act: Tag, at: number) => transitionCall(state, eventOf(act, at))[1]

  it("is bounded by the time that the call has left, and by the approval timeout where the caller waits longer", () => {
    const wait = { _tag: "Wait", limit: 38 * second, extension: 5 * minute } as const
    assert.deepStrictEqual(waitOf(run(), "ConsentAwaited", 20 * second), wait)
    assert.deepStrictEqual(waitOf(run([0, "Started"]), "AnswerAwaited", 20 * second), wait)
  })

  const fifty = (...events: ReadonlyArray<readonly [number, Tag]>) =>
    events.reduce(
      (state, [at, act]) => transitionCall(state, eventOf(act, at))[0],
      acceptCall(0, 2 * hour, 50 * minute)
    )
  const extensionAfter = (...events: ReadonlyArray<readonly [number, Tag]>) => {
    const command = waitOf(fifty(...events), "AnswerAwaited", 100 * minute)
    return command?._tag === "Wait" ? command.extension / minute : undefined
  }

  it("takes an hour in total: consent counts in full when the caller waits longer, an elicitation as it lasted", () => {
    assert.strictEqual(extensionAfter([0, "Started"]), 50)
    assert.strictEqual(extensionAfter([0, "ConsentAwaited"], [minute, "ConsentDecided"], [minute, "Started"]), 50)
    assert.strictEqual(
      extensionAfter([0, "ConsentAwaited"], [0, "Extended"], [minute, "ConsentDecided"], [minute, "Started"]),
      10
    )
    const answered = [
      [0, "Started"],
      [0, "AnswerAwaited"],
      [0, "Extended"],
      [25 * minute, "Answered"]
    ] as const
    assert.strictEqual(extensionAfter(...answered), 35)
    assert.strictEqual(extensionAfter(...answered, [25 * minute, "AnswerAwaited"], [65 * minute, "Answered"]), 0)
    assert.strictEqual(extensionAfter([0, "Started"], [0, "AnswerAwaited"], [20 * minute, "Answered"]), 40)
  })
})

describe("elicitations of a call", () => {
  it("answers 32 of them, also those that wait for others", () => {
    let state = states.Running
    const commands = Array.from({ length: 34 }, (_, index) => {
      const [next, command] = transitionCall(
        index === 5 ? transitionCall(state, eventOf("AnswerAwaited", 3))[0] : state,
        eventOf("Elicited", 3)
      )
      state = next
      return command?._tag
    })
    assert.deepStrictEqual(commands, [...Array.from({ length: 32 }, () => "Elicit"), undefined, undefined])
  })
})

describe("progress of a call", () => {
  it("is reported at once, and then every half second at most", () => {
    let state = states.Running
    const reported = [10, 11, 509, 510, 511, 1010].filter((at) => {
      const [next, command] = transitionCall(state, eventOf("Progressed", at))
      state = next
      return command?._tag === "ReportProgress"
    })
    assert.deepStrictEqual(reported, [10, 510, 1010])
  })
})

const Step = Schema.Struct({
  act: Schema.Literals([...tags, ...laterTags, "Returned"]),
  after: Schema.Literals([0, 100, 20_000])
})

describe("call", () => {
  it.prop("ends once at most, never later than its timeout and its waits allow", [Schema.Array(Step)], ([steps]) => {
    let state = run()
    let at = 0
    let records = 0
    for (const { act, after } of steps) {
      at += after
      const event = act === "Returned" ? { ...done, at } : eventOf(act, at)
      const [next, command] = transitionCall(state, event)
      if (command?._tag === "Record") records++
      assert.isAtMost(timeLeft(next, at), minute)
      assert.isAtLeast(timeLeft(next, at), 0)
      assert.strictEqual(isPaused(next), next.times.pausedAt !== undefined && next._tag.startsWith("WaitingFor"))
      state = next
    }
    assert.isAtMost(records, 1)
    assert.strictEqual(records === 1, state._tag === "Ended")
  })
})
