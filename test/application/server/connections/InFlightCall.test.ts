import { assert, describe, it } from "@effect/vitest"
import { Exit } from "effect"
import { type ReplyExit, SendFailed } from "../../../../src/application/ports/Transport.ts"
import { InFlightCall } from "../../../../src/application/server/connections/InFlightCall.ts"
import { computerNotFound } from "../../../../src/domain/model/ProtocolError.ts"

/** A call whose request was sent, its ends, and the number of cancellations of its request. */
const makeCall = () => {
  const ends: Array<ReplyExit | undefined> = []
  let cancelled = 0
  const call = new InFlightCall("O", (command, exit) => {
    if (command === "Release") ends.push(exit)
  })
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
})
