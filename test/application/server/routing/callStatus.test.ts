import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import {
  makeCallStatusForwarding,
  makeCallStatusReceiver
} from "../../../../src/application/server/routing/callStatus.ts"
import { InFlightCall } from "../../../../src/application/server/routing/InFlightCall.ts"
import { makeLink, makeParts, openMember } from "../parts.ts"

const waits = (computer: string, reqId: string) =>
  jsonBody({
    computer,
    req_id: reqId,
    status: "waiting_for_consent",
    approval_id: "a1",
    mcp_server: "alpha",
    tool_name: "t",
    wait_seconds: 300
  })

/** A call of an Agent of this node to `pc`, whose observers see nothing. */
const callTo = (computer: string, reqId: string) =>
  new InFlightCall("O", () => undefined, {
    computer,
    reqId,
    serial: 1,
    startedAt: 0,
    describe: () => assert.fail("not observed")
  })

describe("the status of a call of an Agent of this node", () => {
  const receive = Effect.gen(function* () {
    const agent = yield* openMember(yield* makeParts(), makeLink("ada").link, "agent")
    const call = callTo("pc", "r")
    const receiver = makeCallStatusReceiver({ callStatusObservers: [] })
    const features = { ...agent.features, callStatus: true }
    return {
      call,
      receive: (computer: string, reqId: string) => receiver({ ...agent, features }, [call], waits(computer, reqId)),
      receiveWithout: () => receiver(agent, [call], waits("pc", "r"))
    }
  })

  it.effect("extends the call", () =>
    Effect.gen(function* () {
      const { call, receive: from } = yield* receive
      assert.deepStrictEqual(from("pc", "r"), { isForwarded: true, waitSeconds: 300 })
      assert.strictEqual(call.reported?.status?._tag, "WaitingForConsent")
      assert.deepStrictEqual(call.takeExtension(), Duration.seconds(300))
    })
  )

  it.effect.each([
    ["another Computer", "other", "r"],
    ["another call", "pc", "other"]
  ] as const)("is that of its Computer: one of %s changes nothing", ([, computer, reqId]) =>
    Effect.gen(function* () {
      const { call, receive: from } = yield* receive
      assert.isUndefined(from(computer, reqId))
      assert.isUndefined(call.reported)
      assert.deepStrictEqual(call.takeExtension(), Duration.zero)
    })
  )

  it.effect("extends nothing for an Agent that does not know statuses", () =>
    Effect.gen(function* () {
      const { call, receiveWithout } = yield* receive
      assert.deepStrictEqual(receiveWithout(), { isForwarded: false, waitSeconds: 0 })
      assert.deepStrictEqual(call.takeExtension(), Duration.zero)
    })
  )
})

describe("the status of a call of an Agent at another node", () => {
  /** Forwards a status to a node that waits on for these seconds, and gives how far the calls `r` and `other` are extended. */
  const forwarded = Effect.fnUntraced(function* (acknowledged: number) {
    const elsewhere = {
      membership: { role: "agent", name: "ada", office: "O" },
      node: "far",
      sid: "ada",
      version: "0.2.0",
      joinRevision: 1
    } as const
    const parts = yield* makeParts({}, ({ nodeLink, registry }) => ({
      nodeLink: {
        ...nodeLink,
        startRequest: (_node, _to, _event, _body, _timeout, onReply) => {
          onReply(Exit.succeed([jsonBody({ wait_seconds: acknowledged })]))
          return () => undefined
        }
      },
      registry: { ...registry, members: () => [elsewhere] }
    }))
    const computer = yield* openMember(parts, makeLink("pc").link, "computer")
    const calls = ["r", "other"].map(
      (reqId) =>
        new InFlightCall(
          "O",
          () => undefined,
          () => reqId
        )
    )
    for (const call of calls) computer.inboundCalls.add(call)
    const waited = yield* makeCallStatusForwarding(parts.context, parts.connections)(computer, "O", waits("pc", "r"))
    return [waited, ...calls.map((call) => Duration.toSeconds(call.takeExtension()))]
  })

  it.effect("extends this call here by what its node acknowledges", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* forwarded(200), [200, 200, 0])
    })
  )

  it.effect("extends nothing where its node does not wait", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* forwarded(0), [0, 0, 0])
    })
  )
})
