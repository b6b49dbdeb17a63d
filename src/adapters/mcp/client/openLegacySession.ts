import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Deferred, Effect, Exit, FiberSet, PubSub, type Scope, Stream } from "effect"
import { z } from "zod"
import {
  isWatched,
  type McpChange,
  type McpSession,
  type McpSessionError
} from "../../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { invalidResult } from "../jsonRpcMessages.ts"
import { sessionError } from "../sessionError.ts"
import { asObject } from "../../../domain/json.ts"
import { allChanges, clientCapabilities, decodeChange, decodeInfo, logLevel, maxPendingChanges } from "./mcpMessages.ts"
import { pollWhen, subscriptionsRejected } from "./resourcePolling.ts"
import { closedByServer, sdkErrorToSessionError } from "./sdkErrors.ts"
import { makeInputHandler } from "./inputHandler.ts"
import type { SendRequest } from "./SendRequest.ts"
import { makeSessionRequests } from "./sessionRequests.ts"

/** Accepts any object: the SDK's schemas would strip unknown members. */
const anyObject = z.looseObject({})

/** Disables the SDK's timer: callers set timeouts and interrupt requests. */
const noTimeout = 2 ** 31 - 1

/** How long a watch waits for the notification stream: an open stream may be silent. */
const notificationsReadyTimeout = "5 seconds"

/** Waits for a request of a finalizer up to one second and ignores its failure. */
export const attemptBriefly = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<void> =>
  request.pipe(Effect.interruptible, Effect.timeoutOption("1 second"), Effect.ignore)

const closedByUs = sessionError("closed", "the session was closed")

/** The transport and what it knows beyond the SDK's interface. */
export interface LegacySessionOptions {
  readonly transport: Transport
  /** Done by the transport when it detects the loss of the session, before it closes. */
  readonly lost?: Deferred.Deferred<McpSessionError>
  /** Done by the transport with the reason when the server offers no notification stream. */
  readonly notificationsUnavailable?: Deferred.Deferred<string>
  /** Resolves when notifications arrive. */
  readonly notificationsReady?: Effect.Effect<void>
  /** Resolves each time notifications may have been missed. */
  readonly notificationsMissed?: Effect.Effect<void>
  /** Runs before the client closes, to end the session at the server. */
  readonly beforeClose?: Effect.Effect<void>
}

/** Makes the requests of a client. They fail with the reason of the loss once the session is `lost`. */
const makeRequest =
  (
    client: Client,
    lost: Deferred.Deferred<McpSessionError>,
    inputs: Effect.Success<typeof makeInputHandler>
  ): SendRequest =>
  (method, params, { responder, onProgress } = {}) =>
    Effect.tryPromise({
      try: (signal) =>
        client.request({ method, params: { ...params } }, anyObject, {
          signal,
          timeout: noTimeout,
          ...(onProgress !== undefined && { onprogress: onProgress })
        }),
      catch: sdkErrorToSessionError
    }).pipe(
      Effect.catch((failure) => {
        // The reason of the loss is more specific than the error of the request.
        if (Deferred.isDoneUnsafe(lost)) return Effect.flip(Deferred.await(lost))
        // In an open session the server sent this error.
        return Effect.fail(failure === closedByServer ? sessionError("protocol", failure.message) : failure)
      }),
      (sent) => (responder === undefined ? sent : inputs.during(responder, sent))
    )

/** Connects a client, or fails with the reason why the session was `closed` meanwhile. */
const connect = (client: Client, transport: Transport, closed: Effect.Effect<McpSessionError>) =>
  Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: noTimeout }),
    catch: sdkErrorToSessionError
  }).pipe(
    // A handshake over SSE never settles when the stream closes. The SDK rejects after a close that it makes itself.
    Effect.raceFirst(
      Effect.flatMap(closed, (failure) => (failure === closedByServer ? Effect.never : Effect.fail(failure)))
    ),
    // The reason of the loss is more specific than a failed handshake.
    Effect.catchIf(
      ({ reason }) => reason === "closed",
      (failure) =>
        Effect.flatMap(Effect.timeoutOption(closed, "1 second"), (reason) =>
          Effect.fail(
            reason._tag === "Some" ? sessionError("unavailable", reason.value.message, reason.value.output) : failure
          )
        )
    )
  )

/** What a watch needs beyond its session. */
interface Watched {
  readonly changes: PubSub.PubSub<McpChange | { readonly _tag: "NotificationsMissed" }>
  /** Resolves once it is known whether notifications arrive. */
  readonly decided: Effect.Effect<unknown>
  readonly notificationsUnavailable: Deferred.Deferred<string>
  readonly closed: Effect.Effect<McpSessionError>
}

/** Makes the watches of a session, which poll resources where a server rejects the subscriptions that it advertises. */
const makeWatch = (
  request: SendRequest,
  requests: Effect.Success<ReturnType<typeof makeSessionRequests>>,
  canSubscribe: boolean,
  { changes, closed, decided, notificationsUnavailable }: Watched
): McpSession["watch"] => {
  const subscribe = Effect.fnUntraced(function* (uri: string) {
    // Only the fact of a result counts.
    yield* Effect.catchIf(
      request("resources/subscribe", { uri }),
      ({ message }) => message === invalidResult.message,
      () => Effect.void
    )
    // The server drops subscriptions with the session anyway.
    yield* Effect.addFinalizer(() => attemptBriefly(request("resources/unsubscribe", { uri })))
  })

  /** Subscribes, or falls back to polling when the server rejects what it advertises. */
  const subscribeOrPoll = (uri: string) =>
    Effect.catchIf(
      subscribe(uri),
      ({ code }) => code === jsonRpcCodes.methodNotFound && canSubscribe,
      () => Deferred.succeed(notificationsUnavailable, subscriptionsRejected)
    )

  return Effect.fnUntraced(function* (wanted) {
    yield* Effect.timeoutOption(decided, notificationsReadyTimeout)
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribeOrPoll, { discard: true })
    const polled = canSubscribe ? yield* pollWhen(notificationsUnavailable, requests, wanted) : Stream.empty
    return Stream.fromSubscription(subscription).pipe(
      Stream.map((change) => {
        if (change._tag === "NotificationsMissed") return allChanges(wanted)
        return isWatched(wanted, change) ? [change] : []
      }),
      Stream.flattenIterable,
      Stream.merge(polled),
      Stream.interruptWhen(closed)
    )
  })
}

/** Opens a session over a transport of the v1 SDK. It closes with the scope. */
export const openLegacySession = Effect.fnUntraced(function* ({
  beforeClose = Effect.void,
  notificationsReady = Effect.void,
  notificationsMissed = Effect.never,
  transport,
  ...given
}: LegacySessionOptions): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const client = new Client({ name: "a2c-smcp", version: packageVersion }, { capabilities: clientCapabilities })
  const changes = yield* PubSub.sliding<McpChange | { readonly _tag: "NotificationsMissed" }>(maxPendingChanges)
  const lost = given.lost ?? (yield* Deferred.make<McpSessionError>())
  const closed = Deferred.await(lost)
  const notificationsUnavailable = given.notificationsUnavailable ?? (yield* Deferred.make<string>())
  const run = yield* FiberSet.makeRuntime()
  let protocolVersion: string | undefined

  client.fallbackNotificationHandler = async ({ method, params }) => {
    const change = decodeChange(method, params)
    if (change !== undefined) PubSub.publishUnsafe(changes, change)
  }
  const inputs = yield* makeInputHandler
  client.fallbackRequestHandler = inputs.handle
  client.onclose = () => void Deferred.doneUnsafe(lost, Exit.succeed(closedByServer))
  client.onerror = (error) => run(Effect.logDebug("MCP client transport error", { reason: error.message }))
  const forwardVersion = transport.setProtocolVersion?.bind(transport)
  transport.setProtocolVersion = (version) => {
    protocolVersion = version
    forwardVersion?.(version)
  }

  const close = Effect.ignore(Effect.tryPromise(() => client.close()))
  yield* Effect.addFinalizer(() =>
    Deferred.succeed(lost, closedByUs).pipe(Effect.andThen(beforeClose), Effect.andThen(close))
  )
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(notificationsMissed, PubSub.publish(changes, { _tag: "NotificationsMissed" })))
  )
  // Rejects pending requests.
  yield* Effect.forkScoped(Effect.andThen(closed, close))

  const request = makeRequest(client, lost, inputs)
  yield* connect(client, transport, closed)
  const info = decodeInfo(protocolVersion, {
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    serverInfo: client.getServerVersion()
  })

  // A server decides itself what it logs when it rejects this.
  if (asObject(client.getServerCapabilities())["logging"] !== undefined) {
    yield* Effect.forkScoped(Effect.ignore(request("logging/setLevel", { level: logLevel })))
  }

  const requests = yield* makeSessionRequests(request, true)

  return {
    info,
    ...requests,
    watch: makeWatch(request, requests, info.capabilities.subscribe, {
      changes,
      closed,
      decided: Effect.raceAllFirst([notificationsReady, Deferred.await(notificationsUnavailable), closed]),
      notificationsUnavailable
    }),
    ping: Effect.asVoid(request("ping", {})),
    closed,
    degraded: info.capabilities.subscribe ? Deferred.await(notificationsUnavailable) : Effect.never
  }
})
