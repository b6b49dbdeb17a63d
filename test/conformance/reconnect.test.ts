import { assert, describe, it } from "@effect/vitest"
import { Context, type Duration, Effect, Exit, Layer, References, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as Memory from "../../src/adapters/memory/MemoryTransport.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import { TransportClient, TransportServer } from "../../src/application/ports/Transport.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { openProxy } from "../chaos/Proxy.ts"
import { agentUnderTest, computerUnderTest, resource, tool } from "./members.ts"
import type { World } from "./World.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { ServerMetrics } from "../../src/application/server/observability/ServerMetrics.ts"

/** A Server that can be restarted at the same address. */
interface Restartable {
  readonly world: Pick<World, "client" | "logging">
  readonly start: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  /** Advances virtual time where the world has it. */
  readonly elapse: (duration: Duration.Input) => Effect.Effect<void>
}

const restartable = Effect.fnUntraced(function* (
  transport: Layer.Layer<TransportServer>,
  client: Layer.Layer<TransportClient>,
  elapse: Restartable["elapse"],
  onStart: (url: string) => void = () => undefined
): Effect.fn.Return<Restartable, never, Scope.Scope> {
  const home = yield* Effect.scope
  let running: Scope.Closeable | undefined
  const world: Pick<World, "client" | "logging"> = {
    client,
    logging: Layer.succeed(References.MinimumLogLevel, "None")
  }
  return {
    world,
    elapse,
    start: Effect.gen(function* () {
      running = yield* Scope.fork(home)
      const started = yield* Layer.buildWithScope(
        Layer.fresh(
          Server.layer.pipe(
            Layer.provide(transport),
            Layer.provide(MemoryCluster.layer),
            Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
            Layer.provide(world.logging)
          )
        ),
        running
      )
      onStart(Context.get(started, Server).url)
    }).pipe(Effect.orDie),
    stop: Effect.suspend(() => (running === undefined ? Effect.void : Scope.close(running, Exit.void)))
  }
})

const onMemory = Effect.gen(function* () {
  const context = yield* Layer.build(Layer.fresh(Memory.layer()))
  return yield* restartable(
    Layer.succeed(TransportServer, Context.get(context, TransportServer)),
    Layer.succeed(TransportClient, Context.get(context, TransportClient)),
    TestClock.adjust
  )
})

const onSocketIo = Effect.gen(function* () {
  let port: number | undefined
  const way = yield* openProxy({ target: () => port })
  return yield* restartable(
    Layer.provide(RelayServer.layer({ port: 0 }), ServerMetrics.layerNone),
    SocketIoClient.layer({ url: `http://127.0.0.1:${way.port}` }),
    () => Effect.void,
    (url) => {
      port = Number(new URL(url).port)
    }
  )
})

const scenario = Effect.fnUntraced(function* ({ elapse, start, stop, world }: Restartable) {
  const alpha = yield* MemoryMcp.makeMemoryMcpServer({ tools: [tool("t")] })
  yield* start
  const computer = yield* computerUnderTest(world, { servers: { alpha } })
  const agent = yield* agentUnderTest(world)
  assert.isFalse((yield* agent.callTool({ computer: "pc-1", tool: "t" })).isError)
  const standing = (member: typeof agent, tag: "Disconnected" | "Joined") =>
    Effect.asVoid(Stream.runHead(Stream.filter(member.status, ({ _tag }) => _tag === tag)))
  yield* stop
  yield* standing(agent, "Disconnected")
  const lost = yield* Effect.flip(agent.callTool({ computer: "pc-1", tool: "t" }))
  assert.strictEqual(lost._tag, "Disconnected")
  yield* alpha.setResources([resource("window://h/new")])
  yield* elapse("10 seconds")
  yield* start
  yield* elapse("1 minute")
  yield* standing(agent, "Joined")
  yield* Effect.asVoid(Stream.runHead(Stream.filter(computer.status, ({ _tag }) => _tag === "Joined")))
  const known = agent.changes.pipe(
    Stream.filter(({ computers }) => computers.get("pc-1")?.tools?.length === 1),
    Stream.runHead
  )
  yield* known
  assert.deepStrictEqual(yield* agent.getDesktop("pc-1"), ["window://h/new\n\nT"])
  assert.isFalse((yield* agent.callTool({ computer: "pc-1", tool: "t" })).isError)
})

describe("lost connection", () => {
  it.effect("cases 274, 275, 352, 361: reconnects members after a restart of the Server [memory]", () =>
    Effect.flatMap(onMemory, scenario)
  )
  it.live("cases 274, 275, 352, 361: reconnects members after a restart of the Server [socket.io]", () =>
    Effect.scoped(Effect.flatMap(onSocketIo, scenario))
  )

  it.effect("removes the Computers that left meanwhile from the view of an Agent", () =>
    Effect.gen(function* () {
      const { elapse, start, stop, world } = yield* onMemory
      yield* start
      const leaving = yield* Scope.make()
      yield* Scope.provide(computerUnderTest(world, { servers: {} }), leaving)
      const agent = yield* agentUnderTest(world)
      yield* agent.settled
      assert.deepStrictEqual([...(yield* agent.view).computers.keys()], ["pc-1"])
      yield* stop
      yield* Scope.close(leaving, Exit.void)
      yield* start
      yield* elapse("1 minute")
      yield* agent.settled
      assert.deepStrictEqual([...(yield* agent.view).computers.keys()], [])
    })
  )
})
