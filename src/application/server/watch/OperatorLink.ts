import { Deferred, Effect, Exit, Fiber, FiberSet, Scope } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import type { Body } from "../../ports/Body.ts"
import {
  type AdmissionRejected,
  type Link,
  LinkClosed,
  type Reply,
  notifyUsing,
  requestUsing
} from "../../ports/Transport.ts"
import { secureRandomHex } from "../../shared/secureRandom.ts"
import type { WatchedServer } from "./WatchedServer.ts"
import type { Operator } from "../../shared/page/PageSource.ts"

/** An operator's end of a link in the process of the Server. */
export interface OperatorLink {
  readonly id: string
  /** Sends a request as any other client. Interruption ends it at the Server, as the loss of a connection does. */
  readonly request: (event: string, body: Body) => Effect.Effect<Reply, LinkClosed>
}

interface LinkOptions {
  readonly line: ProtocolLine
  readonly auth: JsonObject
  readonly operator: Operator
  readonly onNotification: (event: string, body: Body) => void
}

/** Connects an operator to the Server, as long as the scope. The Server handles it as a client of a transport. */
export const openOperatorLink = Effect.fnUntraced(function* (
  { acceptConnection }: Pick<WatchedServer, "acceptConnection">,
  { auth, line, onNotification, operator }: LinkOptions
): Effect.fn.Return<OperatorLink, AdmissionRejected, Scope.Scope> {
  const closed = yield* Deferred.make<string>()
  const linkScope = yield* Scope.fork(yield* Effect.scope)
  let closeReason: string | undefined

  const close = (reason: string): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (closeReason !== undefined) return Effect.void
      closeReason = reason
      Deferred.doneUnsafe(closed, Exit.succeed(reason))
      return Scope.close(linkScope, Exit.void)
    })

  const run = yield* Scope.provide(FiberSet.makeRuntime<never>(), linkScope)
  // The Server sends no requests to an Agent, except the notice of a takeover.
  const startRequest: Link["startRequest"] = (event, body, _timeout, onReply) => {
    onNotification(event, body)
    const fiber = run(Effect.map(Effect.yieldNow, () => onReply(Exit.succeed([]))))
    return () => fiber.interruptUnsafe()
  }

  const post: Link["post"] = (event, body) => {
    onNotification(event, body)
    return undefined
  }

  const link: Link = {
    id: `operator-${secureRandomHex(8)}`,
    request: requestUsing(startRequest),
    startRequest,
    notify: notifyUsing(post),
    post,
    maxBytes: () => Number.POSITIVE_INFINITY,
    fits: () => true,
    backlog: () => 0,
    sentBytes: () => 0,
    pauseReading: () => undefined,
    closed: Deferred.await(closed),
    close
  }
  const { identity, remoteAddress } = operator
  const handshake = { version: line.version, auth, headers: {}, remoteAddress }
  const handle = yield* acceptConnection(link, handshake, identity).pipe(
    Scope.provide(linkScope),
    Effect.onError(() => close("admission_rejected"))
  )
  // Made last: the requests end before the session leaves its office.
  const requests = yield* Scope.provide(FiberSet.make<Reply>(), linkScope)
  yield* Effect.addFinalizer(() => close("client_disconnect"))

  return {
    id: link.id,
    request: (event, body) =>
      Effect.gen(function* () {
        const fiber = yield* FiberSet.run(requests, handle(event, body))
        const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
        return Exit.isSuccess(exit) ? exit.value : yield* new LinkClosed({ reason: closeReason ?? "request ended" })
      })
  }
})
