import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result, SubscriptionRef } from "effect"
import { makeOfficeReporter } from "../../../../src/application/computer/office/OfficeConnection.ts"
import type { MemberStatus, OfficeMember } from "../../../../src/application/member/OfficeMember.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { LinkClosed, type Reply, RequestTimeout } from "../../../../src/application/ports/Transport.ts"
import type { CallReport } from "../../../../src/domain/model/CallStatus.ts"
import { type LineName, lineNamed, lineNames } from "../../../../src/domain/wire/lines.ts"

const report: CallReport = {
  reqId: "r",
  agent: "ada",
  status: { _tag: "Progressing", computer: "pc", progress: 1, total: 2, message: "half" }
}
const gone = new LinkClosed({ reason: "gone" })

type Ack = Effect.Effect<Reply, LinkClosed | RequestTimeout>

/** The reporter of a Computer on a line, whose Server acknowledges waits like this, and what it receives. */
const reporting = Effect.fnUntraced(function* (
  name: LineName,
  ack: Ack = Effect.succeed([]),
  notified: Effect.Effect<void, LinkClosed> = Effect.void
) {
  const received: Array<ReadonlyArray<unknown>> = []
  const member: OfficeMember = {
    line: lineNamed(name),
    status: yield* SubscriptionRef.make<MemberStatus>({ _tag: "Joined" } as MemberStatus),
    request: (event, body, timeout) => {
      received.push(["request", event, Result.getOrThrow(body.value()), Duration.toSeconds(timeout)])
      return ack
    },
    notify: (event, body) => {
      received.push(["notify", event, Result.getOrThrow(body.value())])
      return notified
    },
    maxBytes: () => Number.POSITIVE_INFINITY,
    fits: () => true,
    provesOperators: () => false
  }
  return { received, reporter: makeOfficeReporter(() => member) }
})

const wire = { computer: "pc", agent: "ada", req_id: "r", status: "progress", progress: 1, total: 2, message: "half" }

describe("the status of a call", () => {
  it.effect.each(lineNames.map((name) => [name] as const))("is sent as a whole on line %s", ([name]) =>
    Effect.gen(function* () {
      const { received, reporter } = yield* reporting(name)
      yield* reporter.report(report)
      yield* reporter.announceWait(report)
      assert.deepStrictEqual<unknown>(received, [
        ["notify", "server:update_tool_call", wire],
        ["request", "server:update_tool_call", wire, 10]
      ])
    })
  )

  it.effect.each<readonly [string, Ack, boolean]>([
    ["acknowledges a wait", Effect.succeed([jsonBody({ wait_seconds: 1 })]), true],
    ["does not wait", Effect.succeed([jsonBody({ wait_seconds: 0 })]), false],
    ["acknowledges nothing", Effect.succeed([]), false],
    ["acknowledges something else", Effect.succeed([jsonBody({ wait_seconds: "1" })]), false],
    ["replies with an error", Effect.succeed([jsonBody({ code: 404, message: "unknown event" })]), false],
    ["is silent", Effect.fail(new RequestTimeout({ timeout: Duration.seconds(10) })), false],
    ["is gone", Effect.fail(gone), false]
  ])("is waited for where the Server says so: it %s", ([, ack, isWaiting]) =>
    Effect.gen(function* () {
      const { reporter } = yield* reporting("0.2", ack)
      assert.strictEqual(yield* reporter.announceWait(report), isWaiting)
    })
  )

  it.effect("is lost without an error where it cannot be sent, and outside an office", () =>
    Effect.gen(function* () {
      const { reporter } = yield* reporting("0.2", undefined, Effect.fail(gone))
      yield* reporter.report(report)
      const outside = makeOfficeReporter(() => undefined)
      yield* outside.report(report)
      assert.isFalse(yield* outside.announceWait(report))
    })
  )
})
