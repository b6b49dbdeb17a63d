import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { io } from "socket.io-client"
import { PROTOCOL_VERSION } from "../../../../src/domain/wire/lines.ts"

/** Joins an office as a Computer that replies to a request as `onRequest` says, or never. */
export const joinSilently = (
  url: string,
  name: string,
  onRequest: (event: string, reqId: string, reply: (value: unknown) => void) => void = () => undefined,
  office = "o"
) =>
  Effect.gen(function* () {
    const socket = yield* Effect.acquireRelease(
      Effect.sync(() =>
        io(`${url}/smcp`, {
          path: "/smcp",
          query: { a2c_version: PROTOCOL_VERSION },
          auth: { role: "computer" },
          forceNew: true
        })
      ),
      (one) => Effect.sync(() => one.disconnect())
    )
    socket.onAny((event: string, body: { readonly req_id: string }, reply: (value: unknown) => void) =>
      onRequest(event, body.req_id, reply)
    )
    const join = { role: "computer", name, office_id: office }
    assert.isTrue(yield* Effect.promise(() => socket.timeout(5000).emitWithAck("server:join_office", join)))
  })
