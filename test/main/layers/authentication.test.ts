import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger } from "effect"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { type ServerStartFailed, serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { runServer } from "../../../src/main/promise/RunningServer.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

const quiet = Logger.layer([])

// A host without types gets an error at the start, or a Server that admits no client.
describe("a host that chooses no authentication", () => {
  it.live("gets a type error and no Server from serverLayer", () =>
    Effect.gen(function* () {
      // @ts-expect-error: the Authenticator is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Server, ServerStartFailed> = Layer.provide(serverLayer(), AuditLog.layerNone)
      const built = yield* Effect.exit(Effect.scoped(Layer.build(incomplete)))
      assert.include(String(Exit.findDefect(built)), "Authenticator")
    }).pipe(Effect.provide(quiet))
  )

  it("gets a type error and no Server from runServer", async () => {
    // @ts-expect-error: `authenticate` is missing.
    const failed = await runServer({ log: () => undefined }).catch((error: unknown) => error)
    assert.propertyVal(failed, "code", "config_invalid")
    assert.match(String(failed), /'authenticate' must be a function or "allowAll"/)
  })

  it.live("gets a type error and no published tools from publishHttp", () =>
    Effect.gen(function* () {
      const session = yield* (yield* makeMemoryMcpServer({ tools: [] })).connect
      // @ts-expect-error: the token is missing.
      const failure = yield* Effect.flip(publishHttp(session, { port: 0 }))
      assert.include(failure.message, '"allowAll"')
    })
  )
})

describe("a host that allows all clients", () => {
  it.live("gets a Server from serverLayer", () =>
    Effect.gen(function* () {
      const open = serverLayer().pipe(Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone]))
      const { load } = Context.get(yield* Layer.build(open), Server)
      assert.strictEqual(load().connections, 0)
    }).pipe(Effect.scoped, Effect.provide(quiet))
  )
})
