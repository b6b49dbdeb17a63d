/** The attacked Server, composed as in a host program. It logs to stdout. */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Context, Effect, Layer, Queue, References, Stream } from "effect"
import * as ApiKeys from "../../../src/adapters/auth/ApiKeys.ts"
import type { ApiKeyEntry } from "../../../src/adapters/auth/apiKeyEntries.ts"
import * as Jwt from "../../../src/adapters/auth/Jwt.ts"
import { makeSchemeAuthenticator } from "../../../src/adapters/auth/CredentialScheme.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { liveHeap } from "../../heap.ts"
import { allKeys, lastingKeys } from "../credentials.ts"
import { limits, maxMessageBytes, pings } from "../limits.ts"
import { type ServerState, runChild } from "./orders.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

const delays = monitorEventLoopDelay({ resolution: 5 })
delays.enable()

/** The longest tick of the event loop since the last call, in milliseconds. */
const longestTick = (): number => {
  const { max } = delays
  delays.reset()
  return max / 1e6
}

const program = Effect.gen(function* () {
  const updates = yield* Queue.unbounded<ReadonlyArray<ApiKeyEntry>>()
  const keys = yield* ApiKeys.make(allKeys, Stream.fromQueue(updates))
  const source = { _tag: "PublicKey", text: process.argv[2] ?? "" } as const
  const tokens = yield* Jwt.make({ source })
  const authenticator = makeSchemeAuthenticator([tokens, keys])
  const { load, url } = Context.get(
    yield* Layer.build(
      serverLayer({
        engine: process.argv[3] === "socket.io" ? "socket.io" : "relay",
        limits,
        maxMessageBytes,
        allowedOrigins: ["http://friend.test"],
        ...pings
      }).pipe(Layer.provide([Layer.succeed(Authenticator, authenticator), AuditLog.layerNone]))
    ),
    Server
  )
  runChild(url, (order): ServerState | boolean => {
    switch (order._tag) {
      case "ServerState":
        return {
          load: load(),
          longestTick: order.collect ? longestTick() : 0,
          heap: order.collect ? liveHeap() : 0,
          resident: process.memoryUsage.rss()
        }
      case "Revoke":
        return Queue.offerUnsafe(updates, lastingKeys)
      case "Begin":
      case "End":
        return false
    }
  })
  return yield* Effect.never
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "Info")))
