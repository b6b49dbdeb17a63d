import { assert, describe, it } from "@effect/vitest"
import { Context, Duration, Effect, Layer, Logger, Schedule } from "effect"
import { Agent } from "../../../../src/application/agent/Agent.ts"
import { Authenticator } from "../../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import { agentLayer } from "../../../../src/main/layers/agentLayer.ts"
import { serverLayer, type ServerLayerOptions } from "../../../../src/main/layers/serverLayer.ts"
import { type HttpProxy, openHttpProxy, type Upgrades } from "./HttpProxy.ts"
import { until } from "../../../until.ts"
import { AuditLog } from "../../../../src/application/ports/AuditLog.ts"

const quiet = Logger.layer([])

const startServer = (options: ServerLayerOptions = {}) =>
  Layer.build(Layer.provide(serverLayer(options), [Authenticator.layerAllowAll, AuditLog.layerNone, quiet])).pipe(
    Effect.map((context) => Number(new URL(Context.get(context, Server).url).port))
  )

const join = ({ url }: HttpProxy) =>
  Layer.build(
    agentLayer({ url, office: "o", name: "a", connectTimeout: Duration.seconds(20) }).pipe(Layer.provide(quiet))
  ).pipe(Effect.map((context) => Context.get(context, Agent)))

/** Waits for a fact of the proxy. */
/** Requests the members until the Server answers. */
const answers = (agent: Agent["Service"]) => Effect.retry(agent.members, { schedule: Schedule.spaced("20 millis") })

const upgrades: ReadonlyArray<{ readonly what: string; readonly upgrades: Upgrades }> = [
  { what: "hangs", upgrades: "hang" },
  { what: "passes no frames", upgrades: "no frames" },
  { what: "is closed", upgrades: "close" },
  { what: "is answered with 200", upgrades: 200 },
  { what: "is answered with 400", upgrades: 400 },
  { what: "is answered with 403", upgrades: 403 },
  { what: "is answered with 426", upgrades: 426 },
  { what: "is answered with 502", upgrades: 502 }
]

describe("a member behind a proxy whose WebSocket", () => {
  it.live.each(upgrades)(
    "$what joins over polling",
    (odd) =>
      Effect.gen(function* () {
        const proxy = yield* openHttpProxy(yield* startServer())
        proxy.upgrades = odd.upgrades
        const agent = yield* join(proxy)
        yield* until(() => proxy.opened.length === 2)
        assert.lengthOf(yield* agent.members, 1)
        assert.deepStrictEqual(proxy.opened, ["polling", "upgrade"])
      }).pipe(Effect.scoped),
    60_000
  )

  it.live.each(upgrades)(
    "$what rejoins over polling in one attempt",
    (odd) =>
      Effect.gen(function* () {
        const proxy = yield* openHttpProxy(yield* startServer())
        const agent = yield* join(proxy)
        yield* until(() => proxy.upgraded() === 1)
        proxy.upgrades = odd.upgrades
        proxy.closeAll()
        yield* until(() => proxy.opened.includes("websocket"))
        yield* answers(agent)
        assert.deepStrictEqual(proxy.opened.slice(2, 4), ["websocket", "polling"])
      }).pipe(Effect.scoped),
    60_000
  )

  it.live(
    "stops after some frames stays on polling after the second time",
    () =>
      Effect.gen(function* () {
        const proxy = yield* openHttpProxy(yield* startServer({ pingInterval: 1000, pingTimeout: 2000 }))
        const agent = yield* join(proxy)
        for (const times of [1, 2]) {
          yield* until(() => proxy.upgraded() === times)
          proxy.stopFrames()
        }
        yield* until(() => proxy.opened.length === 5)
        yield* answers(agent)
        assert.deepStrictEqual(proxy.opened, ["polling", "upgrade", "polling", "upgrade", "polling"])
      }).pipe(Effect.scoped),
    60_000
  )
})
