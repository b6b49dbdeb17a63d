import { assert, describe, it } from "@effect/vitest"
import { Duration, Exit, Schema } from "effect"
import { type ReplyExit, SendFailed } from "../../../../src/application/ports/Transport.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { maxTimeoutSeconds } from "../../../../src/domain/model/fields.ts"
import { computerNotFound } from "../../../../src/domain/model/ProtocolError.ts"

/** A call whose request was sent, its ends, and the number of cancellations of its request. */
const makeCall = () => {
  const ends: Array<ReplyExit | undefined> = []
  let cancelled = 0
  const call = new InFlightCall("O", (exit) => void ends.push(exit))
  call.started(() => void (cancelled += 1))
  return { call, ends, cancelled: () => cancelled }
}

const reply = Exit.succeed([])

describe("a call in flight", () => {
  it("ends with its first reply", () => {
    const { call, ends } = makeCall()
    call.end(reply)
    call.end(Exit.succeed([]))
    assert.strictEqual(ends.length, 1)
    assert.strictEqual(ends[0], reply)
  })

  it("ends with the error when it is aborted, and cancels its request", () => {
    const { call, cancelled, ends } = makeCall()
    const error = computerNotFound("pc")
    call.abort(error)
    assert.deepStrictEqual(ends, [Exit.fail(new SendFailed({ error }))])
    assert.strictEqual(cancelled(), 1)
  })

  it("ends without a reply when it is cancelled, and cancels its request", () => {
    const { call, cancelled, ends } = makeCall()
    call.cancel()
    assert.deepStrictEqual(ends, [undefined])
    assert.strictEqual(cancelled(), 1)
  })

  it("ignores aborts and cancellations after its end", () => {
    const { call, cancelled, ends } = makeCall()
    call.end(reply)
    call.abort(computerNotFound("pc"))
    call.cancel()
    assert.deepStrictEqual([ends.length, cancelled()], [1, 0])
  })

  it("ignores replies after its cancellation", () => {
    const { call, ends } = makeCall()
    call.cancel()
    call.end(reply)
    assert.deepStrictEqual(ends, [undefined])
  })

  it("is extended by an hour at most, each time by what was added since its timer last rang", () => {
    const { call } = makeCall()
    const take = () => Duration.toSeconds(call.takeExtension())
    assert.strictEqual(take(), 0)
    call.extend(2)
    call.extend(3)
    assert.deepStrictEqual([take(), take()], [5, 0])
    call.extend(maxTimeoutSeconds)
    call.extend(1)
    assert.deepStrictEqual([take(), take()], [maxTimeoutSeconds - 5, 0])
    call.extend(1)
    assert.strictEqual(take(), 0)
  })

  const Event = Schema.Union([
    Schema.Struct({ _tag: Schema.Literals(["Replied", "Failed", "Aborted", "Abandoned", "TimerRang"]) }),
    Schema.Struct({
      _tag: Schema.Literal("Extended"),
      seconds: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxTimeoutSeconds }))
    })
  ])
  const isEnd = ({ _tag }: typeof Event.Type) => _tag !== "TimerRang" && _tag !== "Extended"
  it.prop("is released once at most, and extended by an hour at most", [Schema.Array(Event)], ([events]) => {
    const { call, ends } = makeCall()
    let added = 0
    for (const event of events) {
      if (event._tag === "Extended") call.extend(event.seconds)
      else if (event._tag === "TimerRang") added += Duration.toSeconds(call.takeExtension())
      else if (event._tag === "Replied") call.end(reply)
      else if (event._tag === "Failed") call.end(reply, false)
      else if (event._tag === "Aborted") call.abort(computerNotFound("pc"))
      else call.cancel()
    }
    assert.strictEqual(ends.length, events.some(isEnd) ? 1 : 0)
    assert.isAtMost(added, maxTimeoutSeconds)
  })
})
