import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { layer as memoryMcp, makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { addInProcessServers, layer } from "../../../../src/application/computer/servers/InProcessConnector.ts"
import { McpConnector } from "../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint } from "../../../../src/domain/config/endpointParameters.ts"
import { setupOf, testComputer, standing } from "../testComputer.ts"

const endpoint = Result.getOrThrow(
  decodeEndpoint("stdio", {
    command: "x",
    args: [],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict"
  })
)

const connect = (name: string) => McpConnector.use((connector) => connector.connect(name, endpoint))

describe("in-process servers", () => {
  it.effect("adds an enabled server without tool settings for every session", () =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer()).connect
      const { servers } = addInProcessServers(setupOf([]).config, { devices: session })
      assert.deepStrictEqual(Object.keys(servers), ["devices"])
      const { parameters, ...server } = servers["devices"] ?? {}
      assert.deepStrictEqual(server, {
        name: "devices",
        bundleId: "devices",
        type: "stdio",
        disabled: false,
        forbiddenTools: [],
        toolMeta: {},
        defaultToolMeta: null,
        vrl: null
      })
      assert.isTrue(Result.isSuccess(decodeEndpoint("stdio", parameters)))
    })
  )

  it.effect("keeps the configuration of a server with the name of a session", () =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer()).connect
      const { config } = setupOf(["devices", "other"])
      assert.deepStrictEqual(addInProcessServers(config, { devices: session }), config)
    })
  )

  it.effect("keeps the server of a session running, also when it is configured as lazy", () =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer()).connect
      const inProcess = layer({ devices: session }).pipe(Layer.provide(memoryMcp(new Map())))
      const { isInProcess } = Context.get(yield* Layer.build(inProcess), McpConnector)
      const configure = { devices: { lifecycle: "lazy" } }
      const { computer } = yield* testComputer({
        servers: { devices: { connect: Effect.succeed(session) } },
        configure,
        ...(isInProcess !== undefined && { isInProcess })
      })
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(yield* standing(computer, "devices"), "Ready")
    })
  )

  it.effect("connects a server with the name of a session to the session", () =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer()).connect
      const connected = yield* connect("devices").pipe(
        Effect.provide(layer({ devices: session }).pipe(Layer.provide(memoryMcp(new Map()))))
      )
      assert.strictEqual(connected, session)
    })
  )

  it.effect.each(["other", "toString"])("connects the server %s without a session to its endpoint", (name) =>
    Effect.gen(function* () {
      const memory = yield* makeMemoryMcpServer({ name: "memory" })
      const session = yield* (yield* makeMemoryMcpServer()).connect
      const { info } = yield* connect(name).pipe(
        Effect.provide(layer({ devices: session }).pipe(Layer.provide(memoryMcp(new Map([[name, memory]])))))
      )
      assert.strictEqual(info.name, "memory")
    })
  )
})
