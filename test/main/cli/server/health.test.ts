import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Runtime } from "effect"
import { allowAll, Authenticator } from "../../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../../src/application/server/lifecycle/Server.ts"
import { CommandFailed } from "../../../../src/main/CommandFailed.ts"
import { serverLayer } from "../../../../src/main/layers/serverLayer.ts"
import { makeVictim } from "../../../adapters/http/victim.ts"
import { a2cInProcess } from "../inProcess.ts"
import { AuditLog } from "../../../../src/application/ports/AuditLog.ts"

const health = (url: string) => a2cInProcess("server", "health", url)

/** The message and the exit code of a failure. */
const failureOf = (url: string) =>
  Effect.map(health(url), ({ failure }) => {
    assert.instanceOf(failure, CommandFailed)
    return [failure.message, failure[Runtime.errorExitCode]]
  })

describe("a2c server health", () => {
  it.live("prints the state of a Server, without credentials", () =>
    Effect.gen(function* () {
      const deny = Layer.succeed(Authenticator, {
        ...allowAll,
        requiresCredentials: true,
        authenticate: () => Effect.die("not asked")
      })
      const context = yield* Layer.build(serverLayer().pipe(Layer.provide([deny, AuditLog.layerNone])))
      const { url } = Context.get(context, Server)
      for (const same of [url, url.replace("http", "HTTP"), url.replace("http", "ws")]) {
        assert.strictEqual((yield* health(same)).stdout, "ready\n")
      }
    })
  )

  it.live("exits with 2 while a Server is not ready", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeVictim((_, response) => void response.writeHead(503).end("draining: now\n"))
      assert.deepStrictEqual(yield* failureOf(`${url}/smcp`), ["The Server is not ready: draining: now", 2])
      assert.deepStrictEqual(requests, ["GET /readyz"])
    })
  )

  it.live("exits with 1 for another service", () =>
    Effect.gen(function* () {
      const { url } = yield* makeVictim((_, response) => void response.writeHead(404).end())
      assert.deepStrictEqual(yield* failureOf(url), [`The response of ${url} is not from an A2C Server: status 404`, 1])
    })
  )

  it.live("exits with 1 without a Server", () =>
    Effect.gen(function* () {
      const url = "http://127.0.0.1:1"
      assert.deepStrictEqual(yield* failureOf(url), [`The Server at ${url} cannot be reached: connection refused`, 1])
    })
  )
})
