import { request } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { WebSocket } from "ws"
import { TransportServer } from "../../../src/application/ports/Transport.ts"
import { Limits } from "../../../src/application/server/Limits.ts"
import { ServerMetrics } from "../../../src/application/server/observability/ServerMetrics.ts"
import { recordGauges } from "../../recordGauges.ts"
import { engines } from "./engines.ts"
import { until } from "../../until.ts"

const query = "EIO=4&a2c_version=0.2.0"

for (const [engine, makeServer] of engines) {
  const site = Effect.fnUntraced(function* (limits: Partial<Limits> = {}) {
    const { metrics, read } = recordGauges()
    const { url } = yield* TransportServer.use(({ serve }) =>
      serve(() => Effect.succeed(() => Effect.succeed([])))
    ).pipe(
      Effect.provide(Layer.provide(makeServer(), Layer.succeed(ServerMetrics, metrics)), { local: true }),
      Effect.provideService(Limits, { ...Limits.defaultValue(), ...limits })
    )
    const get = (parameters: string, body?: string) =>
      Effect.promise(async () => {
        const options = body === undefined ? {} : { method: "POST", body }
        const response = await fetch(`${url}/smcp/?${query}&transport=polling${parameters}`, options)
        return { status: response.status, text: await response.text() }
      })
    const open = Effect.map(
      get(""),
      ({ text }) => `&sid=${(JSON.parse(text.slice(1)) as { readonly sid: string }).sid}`
    )
    return { get, open, read, url }
  })

  describe(`a Server with ${engine}`, () => {
    it.live("closes the connection that waits longest for its admission when there are too many", () =>
      Effect.gen(function* () {
        const { get, open, read } = yield* site({ connections: 1 })
        const sessions = yield* Effect.replicateEffect(open, 257)
        assert.strictEqual(read("unauthenticated_connections"), 257)
        yield* open
        assert.strictEqual(read("unauthenticated_connections"), 257)
        const [first = "", second = ""] = sessions
        assert.deepStrictEqual(
          [(yield* get(first, "40/smcp,")).status, (yield* get(second, "40/smcp,")).status],
          [400, 200]
        )
        assert.strictEqual(read("unauthenticated_connections"), 256)
      })
    )

    it.live("frees the parts of a message when its WebSocket closes", () =>
      Effect.gen(function* () {
        const { read, url } = yield* site()
        const socket = new WebSocket(`${url.replace("http", "ws")}/smcp/?${query}&transport=websocket`)
        yield* Effect.callback<void>((resume) => void socket.once("open", () => resume(Effect.void)))
        socket.send("40/smcp,")
        yield* until(() => read("unauthenticated_connections") === 0)
        socket.send(`42/smcp,["x","${"x".repeat(10_000)}`, { fin: false })
        yield* until(() => read("incomplete_bytes") >= 10_000)
        socket.terminate()
        yield* until(() => read("incomplete_bytes") === 0)
      })
    )

    it.live("closes a WebSocket that sends more than 64 KiB before its upgrade is complete", () =>
      Effect.gen(function* () {
        const { open, url } = yield* site()
        const session = yield* open
        const socket = new WebSocket(`${url.replace("http", "ws")}/smcp/?${query}&transport=websocket${session}`)
        yield* Effect.callback<void>((resume) => void socket.once("open", () => resume(Effect.void)))
        socket.on("error", () => undefined)
        socket.send("2".repeat(100_000), { fin: false })
        yield* Effect.callback<void>((resume) => void socket.once("close", () => resume(Effect.void))).pipe(
          Effect.timeout("5 seconds")
        )
      })
    )

    it.live("frees the parts of a message when its poll closes", () =>
      Effect.gen(function* () {
        const { get, open, read, url } = yield* site()
        const session = yield* open
        yield* get(session, "40/smcp,")
        const headers = { "Content-Length": 20_000 }
        const posting = request(`${url}/smcp/?${query}&transport=polling${session}`, { method: "POST", headers })
        posting.on("error", () => undefined)
        posting.write("4".repeat(10_000))
        yield* until(() => read("incomplete_bytes") >= 10_000)
        posting.destroy()
        yield* until(() => read("incomplete_bytes") === 0)
      })
    )
  })
}
