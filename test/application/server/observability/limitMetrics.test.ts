import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { allowAll } from "../../../../src/application/ports/Authenticator.ts"
import { TransportClient } from "../../../../src/application/ports/Transport.ts"
import type { Limits } from "../../../../src/application/server/Limits.ts"
import type { Role } from "../../../../src/domain/model/Membership.ts"
import { connectMember } from "../clusterNode.ts"
import { type Seen, seenServer } from "../seen.ts"

/** Connects a raw member. A Computer never replies to calls. */
const connect = Effect.fnUntraced(function* ({ client }: Seen, role: Role) {
  const transport = yield* Effect.provide(TransportClient, client)
  const { request } = yield* connectMember(transport, role, { answer: () => Effect.never })
  const join = (name: string, office: string) => request("server:join_office", { role, name, office_id: office })
  const call = (reqId: string, computer: string) =>
    request("client:get_tools", { agent: "ada", req_id: reqId, computer })
  return { call, join, request }
})

type Act = (agent: Effect.Success<ReturnType<typeof connect>>) => Effect.Effect<unknown, unknown>

const callTwice: Act = ({ call }) => Effect.race(call("a", "pc"), call("b", "pc"))

/** The rejections of a Server with these limits, by limit, after an Agent and a Computer have joined and acted. */
const rejectionsAfter = (limits: Partial<Limits>, act: Act) =>
  Effect.gen(function* () {
    const seen = yield* seenServer({}, allowAll, limits)
    const [agent, computer] = [yield* connect(seen, "agent"), yield* connect(seen, "computer")]
    yield* agent.join("ada", "o")
    yield* computer.join("pc", "o")
    yield* act(agent)
    const rejections = Object.entries(seen.series()).flatMap(([name, count]) => {
      const [, limit] = /^a2c_limit_rejections_total\{limit=(.*)\}$/.exec(name) ?? []
      return limit === undefined ? [] : [[limit, count] as const]
    })
    assert.deepStrictEqual(seen.observability.report().totals.limitRejections, Object.fromEntries(rejections))
    return rejections
  })

describe("the count of rejections", () => {
  it.effect.each([
    [
      "no limit that is just reached",
      { nameLength: 3, officeLength: 1, requestIdLength: 1 },
      ({ call }) => call("r", "absent"),
      undefined
    ],
    ["the length of names", { nameLength: 3 }, ({ join }) => join("adam", "p"), "name_length"],
    ["the length of office ids", { officeLength: 1 }, ({ join }) => join("ada", "pp"), "office_length"],
    ["the length of request ids", { requestIdLength: 1 }, ({ call }) => call("rr", "pc"), "request_id_length"],
    [
      "the rate of messages",
      { messagesPerSecond: 0.01, messageBurst: 2 },
      ({ call }) => Effect.andThen(call("a", "absent"), call("b", "absent")),
      "messages_per_second"
    ],
    ["the calls of an Agent", { callsPerAgent: 1 }, callTwice, "calls_per_agent"],
    ["the calls to a Computer", { callsPerComputer: 1 }, callTwice, "calls_per_computer"],
    [
      "the memory of requests",
      { totalRequestBytes: 20_000 },
      ({ request }) =>
        request("client:get_tools", { agent: "ada", req_id: "r", computer: "pc", padding: "x".repeat(9000) }),
      "total_request_bytes"
    ]
  ] as ReadonlyArray<readonly [string, Partial<Limits>, Act, string | undefined]>)("has %s", ([, limits, act, limit]) =>
    Effect.map(rejectionsAfter(limits, act), (found) =>
      assert.deepStrictEqual(found, limit === undefined ? [] : [[limit, 1]])
    )
  )
})
