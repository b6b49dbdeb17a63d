import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Result, Scope } from "effect"
import { type Body, jsonBody } from "../../../../../src/application/ports/Body.ts"
import { AdmissionRejected, type Link, type MessageHandler } from "../../../../../src/application/ports/Transport.ts"
import { openOperatorLink } from "../../../../../src/application/server/watch/operatorCalls.ts"
import { defaultLine } from "../../../../../src/domain/wire/lines.ts"
import { olga } from "../watchedServer.ts"

const body = jsonBody({})

/** A link to a Server that handles messages with `handle`. */
const openLink = Effect.fnUntraced(function* (handle: MessageHandler) {
  const scope = yield* Scope.make()
  const serverEnd = yield* Deferred.make<Link>()
  const received: Array<unknown> = []
  const acceptConnection = (link: Link) => Effect.as(Deferred.succeed(serverEnd, link), handle)
  const onNotification = (event: string, { head }: Body) => void received.push([event, Result.getOrThrow(head)])
  const options = { line: defaultLine, auth: {}, operator: olga, onNotification }
  const link = yield* Scope.provide(openOperatorLink({ acceptConnection }, options), scope)
  return { link, server: yield* Deferred.await(serverEnd), received, close: Scope.close(scope, Exit.void) }
})

describe("the link of an operator", () => {
  it.effect("gives the reply of the Server", () =>
    Effect.gen(function* () {
      const { link } = yield* openLink((event) => Effect.succeed([jsonBody(event)]))
      const [reply] = yield* link.request("server:x", body)
      assert.deepStrictEqual(reply?.head, Result.succeed("server:x"))
    })
  )

  it.effect("passes the notifications of the Server, and acknowledges its requests with no values", () =>
    Effect.gen(function* () {
      const { received, server } = yield* openLink(() => Effect.succeed([]))
      yield* server.notify("notify:a", jsonBody(1))
      assert.deepStrictEqual(yield* server.request("notify:b", jsonBody(2), Duration.seconds(1)), [])
      assert.deepStrictEqual(received, [
        ["notify:a", 1],
        ["notify:b", 2]
      ])
    })
  )

  it.effect("ends a request at the Server when the request is interrupted", () =>
    Effect.gen(function* () {
      const ended = yield* Deferred.make<void>()
      const { link } = yield* openLink(() => Effect.onInterrupt(Effect.never, () => Deferred.succeed(ended, undefined)))
      const request = yield* Effect.forkChild(link.request("server:x", body), { startImmediately: true })
      yield* Fiber.interrupt(request)
      yield* Deferred.await(ended)
    })
  )

  it.effect("tells the Server when it closes", () =>
    Effect.gen(function* () {
      const { close, server } = yield* openLink(() => Effect.never)
      yield* close
      assert.strictEqual(yield* server.closed, "client_disconnect")
    })
  )

  it.effect("ends its requests with the reason when the Server closes it", () =>
    Effect.gen(function* () {
      const { link, server } = yield* openLink(() => Effect.never)
      const request = yield* Effect.forkChild(Effect.flip(link.request("server:x", body)), { startImmediately: true })
      yield* server.close("revoked")
      assert.strictEqual((yield* Fiber.join(request)).reason, "revoked")
      assert.strictEqual(yield* server.closed, "revoked")
    })
  )

  it.effect("rejects requests with the reason after it has closed", () =>
    Effect.gen(function* () {
      const { link, server } = yield* openLink(() => Effect.succeed([]))
      yield* server.close("revoked")
      assert.strictEqual((yield* Effect.flip(link.request("server:x", body))).reason, "revoked")
    })
  )

  it.effect("releases what the Server has acquired when the Server rejects it", () =>
    Effect.gen(function* () {
      const released: Array<string> = []
      const acceptConnection = () =>
        Effect.andThen(
          Effect.addFinalizer(() => Effect.sync(() => void released.push("slot"))),
          Effect.fail(new AdmissionRejected({ code: 503, message: "full" }))
        )
      const options = { line: defaultLine, auth: {}, operator: olga, onNotification: () => undefined }
      yield* Effect.flip(openOperatorLink({ acceptConnection }, options))
      assert.deepStrictEqual(released, ["slot"])
    })
  )
})
