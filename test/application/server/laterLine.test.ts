import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Result } from "effect"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import { ServedLines, TransportClient } from "../../../src/application/ports/Transport.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { Observability } from "../../../src/application/server/observability/Observability.ts"
import { defaultLine, lineNamed } from "../../../src/domain/wire/lines.ts"
import { extendLine } from "../../../src/domain/wire/ProtocolLine.ts"

const v0_4 = lineNamed("0.4")

/** A line that renames an event and acknowledges joins with an empty object. */
const later = extendLine(v0_4, {
  name: "0.9",
  version: { major: 0, minor: 9, patch: 0 },
  calls: { ...v0_4.calls, getTools: { ...v0_4.calls.getTools, event: "client:list_tools" } },
  encodeMembershipAck: (outcome) => [
    Result.match(outcome, { onSuccess: () => ({}), onFailure: ({ message }) => ({ code: 400, message }) })
  ]
})

const serve = Server.layer.pipe(
  Layer.provideMerge(MemoryTransport.layer()),
  Layer.provide(MemoryCluster.layer),
  Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
  Layer.provide(Layer.succeed(ServedLines, [defaultLine, later])),
  Layer.fresh,
  Layer.build,
  Effect.map((context) => Context.get(context, TransportClient))
)

const minute = Duration.minutes(1)

const values = (reply: ReadonlyArray<{ readonly head: Result.Result<unknown, unknown> }>) =>
  reply.map(({ head }) => Result.getOrThrow(head))

describe("a line that is added", () => {
  it.effect("serves its members beside the others, with its own events and acknowledgements", () =>
    Effect.gen(function* () {
      const { connect } = yield* serve
      const connectAt = (version: string) =>
        connect({
          version,
          auth: {},
          onMessage: (event) => Effect.succeed(event === "client:list_tools" ? [jsonBody({ tools: ["mine"] })] : [])
        })
      const join = (role: string, name: string) => jsonBody({ role, name, office_id: "O" })
      const [computer, agent, old] = yield* Effect.all([connectAt("0.9.0"), connectAt("0.9.3"), connectAt("0.2.0")])
      const request = (member: typeof computer, event: string, body: Body) =>
        Effect.map(member.request(event, body, minute), values)
      assert.deepStrictEqual(yield* request(computer, "server:join_office", join("computer", "desk")), [{}])
      assert.deepStrictEqual(yield* request(agent, "server:join_office", join("agent", "brain")), [{}])
      assert.deepStrictEqual(yield* request(old, "server:join_office", join("agent", "old")), [true, null])
      const listing = jsonBody({ agent: "brain", req_id: "r", computer: "desk" })
      assert.deepStrictEqual(yield* request(agent, "client:list_tools", listing), [{ tools: ["mine"] }])
    })
  )

  it.effect("extends the range of a rejected version", () =>
    Effect.gen(function* () {
      const { connect } = yield* serve
      const attempt = connect({ version: "0.4.0", auth: {}, onMessage: () => Effect.succeed([]) })
      const error = yield* Effect.flip(Effect.scoped(attempt))
      assert.include(error.message, "0.2.0 to 0.9.999")
    })
  )
})
