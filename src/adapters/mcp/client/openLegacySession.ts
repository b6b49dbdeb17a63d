import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { ProgressCallback } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Deferred, Effect, Exit, FiberSet, PubSub, type Scope, Stream } from "effect"
import { z } from "zod"
import {
  isWatched,
  type McpChange,
  type McpSessionError,
  type McpProgress,
  type McpSession
} from "../../../application/ports/McpSession.ts"
import { listAllPages } from "../../../application/shared/paging.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { sessionError } from "../sessionError.ts"
import { pollWhen, subscriptionsRejected } from "./resourcePolling.ts"
import { maxPendingChanges, allChanges, decodeChange, decodeInfo } from "./mcpMessages.ts"
import { closedByServer, sdkErrorToSessionError } from "./sdkErrors.ts"
import { makeSessionRequests, type SendRequest } from "./sessionRequests.ts"

/** Accepts any object: the SDK's schemas would strip unknown members. */
const anyObject = z.looseObject({})

/** Disables the SDK's timer: callers set timeouts and interrupt requests. */
const noTimeout = 2 ** 31 - 1

/** The server drops subscriptions with the session anyway. */
const unsubscribeTimeout = "1 second"

/** How long a watch waits for the notification stream: an open stream may be silent. */
const notificationsReadyTimeout = "5 seconds"

const closedByUs = sessionError("closed", "the session was closed")

const toProgress = ({ message, progress, total }: Parameters<ProgressCallback>[0]): McpProgress =>
  definedOnly({ progress, total, message })

/** The transport and what it knows beyond the SDK's interface. */
export interface LegacySessionOptions {
  readonly transport: Transport
  /** Resolves with the reason when the transport's process exits. */
  readonly exitReason?: Effect.Effect<string>
  /** Done by the transport when it detects the loss of the session. */
  readonly lost?: Deferred.Deferred<McpSessionError>
  /** Done by the transport with the reason when the server offers no notification stream. */
  readonly notificationsUnavailable?: Deferred.Deferred<string>
  /** Resolves when notifications arrive or are known to be unavailable. */
  readonly notificationsReady?: Effect.Effect<void>
  /** Resolves each time notifications may have been missed. */
  readonly notificationsMissed?: Effect.Effect<void>
  /** Runs before the client closes, to end the session at the server. */
  readonly beforeClose?: Effect.Effect<void>
}

/** Opens a session over a transport of the v1 SDK. It closes with the scope. */
export const openLegacySession = Effect.fnUntraced(function* ({
  exitReason,
  beforeClose = Effect.void,
  notificationsReady = Effect.void,
  lost,
  notificationsMissed = Effect.never,
  transport,
  notificationsUnavailable: givenUnavailable
}: LegacySessionOptions): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const client = new Client({ name: "a2c-smcp", version: packageVersion }, { capabilities: {} })
  const changes = yield* PubSub.sliding<McpChange | { readonly _tag: "NotificationsMissed" }>(maxPendingChanges)
  const closed = lost ?? (yield* Deferred.make<McpSessionError>())
  const notificationsUnavailable = givenUnavailable ?? (yield* Deferred.make<string>())
  const run = yield* FiberSet.makeRuntime()
  const closeReason = exitReason ?? Effect.map(Deferred.await(closed), ({ message }) => message)
  let protocolVersion: string | undefined

  client.fallbackNotificationHandler = async ({ method, params }) => {
    const change = decodeChange(method, params)
    if (change !== undefined) PubSub.publishUnsafe(changes, change)
  }
  // With `exitReason` the transport reports a more specific reason shortly after.
  if (exitReason === undefined) {
    client.onclose = () => void Deferred.doneUnsafe(closed, Exit.succeed(closedByServer))
  }
  client.onerror = (error) => run(Effect.logDebug("MCP client transport error", { reason: error.message }))
  const forwardVersion = transport.setProtocolVersion?.bind(transport)
  transport.setProtocolVersion = (version) => {
    protocolVersion = version
    forwardVersion?.(version)
  }

  const close = Effect.ignore(Effect.tryPromise(() => client.close()))
  yield* Effect.addFinalizer(() =>
    Deferred.succeed(closed, closedByUs).pipe(Effect.andThen(beforeClose), Effect.andThen(close))
  )
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(notificationsMissed, PubSub.publish(changes, { _tag: "NotificationsMissed" })))
  )
  yield* Effect.forkScoped(
    Effect.flatMap(closeReason, (message) => Deferred.succeed(closed, sessionError("closed", message)))
  )
  // Rejects pending requests.
  yield* Effect.forkScoped(Effect.andThen(Deferred.await(closed), close))

  /** Replaces the error of a request by the close reason once the session is closed. */
  const failWithCloseReason = (failure: McpSessionError): Effect.Effect<never, McpSessionError> =>
    Deferred.isDoneUnsafe(closed) ? Effect.flatMap(Deferred.await(closed), Effect.fail) : Effect.fail(failure)

  const request: SendRequest = (method, params, onProgress) =>
    Effect.tryPromise({
      try: (signal) =>
        client.request({ method, params: { ...params } }, anyObject, {
          signal,
          timeout: noTimeout,
          ...(onProgress !== undefined && { onprogress: (progress) => onProgress(toProgress(progress)) })
        }),
      catch: sdkErrorToSessionError
    }).pipe(Effect.catch(failWithCloseReason))

  // The exit reason of a process is more specific than a failed handshake.
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: noTimeout }),
    catch: sdkErrorToSessionError
  }).pipe(
    // A handshake over SSE never settles when the stream closes. The SDK rejects after a close that it makes
    // itself.
    Effect.raceFirst(
      Effect.flatMap(Deferred.await(closed), (failure) =>
        failure === closedByServer ? Effect.never : Effect.fail(failure)
      )
    ),
    Effect.catchIf(
      ({ reason }) => reason === "closed",
      (failure) =>
        Effect.flatMap(Effect.timeoutOption(closeReason, "1 second"), (message) =>
          Effect.fail(message._tag === "Some" ? sessionError("unavailable", message.value) : failure)
        )
    )
  )
  const info = decodeInfo(protocolVersion, {
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    serverInfo: client.getServerVersion()
  })

  const sessionRequests = yield* makeSessionRequests(request)
  const { listResources, readResource } = sessionRequests

  const subscribe = Effect.fnUntraced(function* (uri: string) {
    yield* request("resources/subscribe", { uri })
    yield* Effect.addFinalizer(() =>
      request("resources/unsubscribe", { uri }).pipe(
        Effect.interruptible,
        Effect.timeoutOption(unsubscribeTimeout),
        Effect.ignore
      )
    )
  })

  /** Subscribes, or falls back to polling when the server rejects what it advertises. */
  const subscribeOrPoll = (uri: string) =>
    Effect.catchIf(
      subscribe(uri),
      ({ code }) => code === jsonRpcCodes.methodNotFound && info.capabilities.subscribe,
      () => Deferred.succeed(notificationsUnavailable, subscriptionsRejected)
    )

  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    yield* Effect.timeoutOption(Effect.raceFirst(notificationsReady, Deferred.await(closed)), notificationsReadyTimeout)
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribeOrPoll, { discard: true })
    const polled = info.capabilities.subscribe
      ? yield* pollWhen(notificationsUnavailable, { listResources: listAllPages(listResources), readResource }, wanted)
      : Stream.empty
    return Stream.fromSubscription(subscription).pipe(
      Stream.map((change) => {
        if (change._tag === "NotificationsMissed") return allChanges(wanted)
        return isWatched(wanted, change) ? [change] : []
      }),
      Stream.flattenIterable,
      Stream.merge(polled),
      Stream.interruptWhen(Deferred.await(closed))
    )
  })

  return {
    info,
    ...sessionRequests,
    watch,
    ping: Effect.asVoid(request("ping", {})),
    closed: Deferred.await(closed),
    degraded: info.capabilities.subscribe ? Deferred.await(notificationsUnavailable) : Effect.never
  }
})
