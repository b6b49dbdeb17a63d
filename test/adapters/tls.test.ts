import { readFileSync } from "node:fs"
import { connect as connectTcp } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Queue, Schedule, Scope, Stream } from "effect"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import type { TlsIdentity } from "../../src/adapters/http/tlsServer.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { PROTOCOL_VERSION } from "../../src/domain/wire/version.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8")

/** A self-signed certificate for this machine. */
const identity = (name: "first" | "second"): TlsIdentity => ({
  cert: pem(`${name}.cert`),
  key: pem(`${name}.key`)
})
const [first, second] = [identity("first"), identity("second")]

const serve = Effect.fnUntraced(function* (options: RelayServer.RelayServerOptions) {
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void logs.push(JSON.stringify(message)))
  const context = yield* Server.layer.pipe(
    Layer.provide(RelayServer.layer(options)),
    Layer.provide(MemoryCluster.layer),
    Layer.provide(Logger.layer([logger])),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build
  )
  return { url: Context.get(context, Server).url, logs }
})

const connect = (url: string, options: Partial<SocketIoClient.SocketIoClientOptions>) =>
  TransportClient.use((transport) =>
    transport.connect({ version: PROTOCOL_VERSION, auth: {}, onMessage: () => Effect.succeed([]) })
  ).pipe(Effect.provide(SocketIoClient.layer({ url, ...options })))

describe("a Server with a certificate", () => {
  for (const transport of ["polling", "websocket"] as const) {
    it.live(`accepts clients over ${transport} that trust its certificate`, () =>
      Effect.gen(function* () {
        const { url } = yield* serve({ tls: first })
        assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/)
        const link = yield* connect(url, { transports: [transport], ca: first.cert })
        assert.notStrictEqual(link.id, "")
        for (const ca of [{}, { ca: second.cert }]) {
          const failure = yield* Effect.flip(connect(url, { transports: [transport], ...ca }))
          assert.strictEqual(failure._tag, "Unreachable")
        }
      }).pipe(Effect.scoped)
    )
  }

  it.live("rejects clients without TLS", () =>
    Effect.gen(function* () {
      const { url } = yield* serve({ tls: first })
      const failure = yield* Effect.flip(connect(url.replace("https", "http"), {}))
      assert.strictEqual(failure._tag, "Unreachable")
    }).pipe(Effect.scoped)
  )

  it.live("uses a new certificate at once, and keeps the old one when the new one is invalid", () =>
    Effect.gen(function* () {
      const renewed = yield* Queue.unbounded<TlsIdentity>()
      const { logs, url } = yield* serve({ tls: { ...first, updates: Stream.fromQueue(renewed) } })
      const old = yield* connect(url, { ca: first.cert })
      const said = (text: string) =>
        Effect.repeat(
          Effect.sync(() => logs.some((line) => line.includes(text))),
          { until: (yes) => yes, schedule: Schedule.spaced("5 millis") }
        )
      yield* Queue.offer(renewed, { cert: second.cert, key: first.key })
      yield* said("the key does not match the certificate")
      yield* connect(url, { ca: first.cert })
      yield* Queue.offer(renewed, second)
      yield* said("certificate reloaded")
      yield* connect(url, { ca: second.cert })
      yield* old.notify("server:update_desktop", jsonBody({ computer: "desk" }))
    }).pipe(Effect.scoped)
  )

  it.live("fails to start with an invalid certificate", () =>
    Effect.gen(function* () {
      const none = yield* Effect.flip(serve({ tls: { cert: "none", key: "none" } }))
      assert.match(none.message, /not a PEM file/)
      const other = yield* Effect.flip(serve({ tls: { cert: first.cert, key: second.key } }))
      assert.match(other.message, /does not match the certificate/)
    }).pipe(Effect.scoped)
  )

  it.live("closes without waiting for a silent connection", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { url } = yield* Scope.provide(serve({ tls: first }), scope)
      const { hostname, port } = new URL(url)
      const silent = yield* Effect.acquireRelease(
        Effect.sync(() => connectTcp({ host: hostname, port: Number(port) })),
        (socket) => Effect.sync(() => socket.destroy())
      )
      yield* Effect.callback<void>((resume) => void silent.once("connect", () => resume(Effect.void)))
      yield* connect(url, { ca: first.cert })
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.scoped)
  )
})
