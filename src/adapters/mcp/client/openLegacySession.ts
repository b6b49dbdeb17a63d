import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { ProgressCallback } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Deferred, Effect, Exit, PubSub, type Scope, Stream } from "effect"
import { z } from "zod"
import {
  isWatched,
  type McpChange,
  McpSessionError,
  type McpInfo,
  type McpProgress,
  type McpSession
} from "../../../application/ports/McpSession.ts"
import { listAllPages } from "../../../application/shared/paging.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { pollWhen, subscriptionsRejected } from "./resourcePolling.ts"
import { maxPendingChanges, allChanges, methodNotFound, decodeChange } from "./mcpMessages.ts"
import { closedByServer, sdkErrorToSessionError } from "./sdkErrors.ts"
import { makeSessionRequests, type SendRequest } from "./sessionRequests.ts"

/** Takes any object: what a server says passes through untouched, where the SDK's own schemas would strip it. */
const anyObject = z.looseObject({})

/** The SDK's timer, switched off: deadlines are set by whoever asks, and end requests by interrupting them. */
const noTimeout = 2 ** 31 - 1

/** How long ending a subscription may take; the server forgets it with the session anyway. */
const unsubscribeTimeout = "1 second"

/** How long a watch waits until notifications are heard; a stream may be open long before it shows. */
const notificationsReadyTimeout = "5 seconds"

const closedByUs = new McpSessionError({ reason: "closed", message: "the session was closed" })

const toProgress = ({ message, progress, total }: Parameters<ProgressCallback>[0]): McpProgress => ({
  progress,
  ...(total !== undefined && { total }),
  ...(message !== undefined && { message })
})

const infoOf = (client: Client, protocolVersion: string | undefined): McpInfo => {
  const { resources, tools } = client.getServerCapabilities() ?? {}
  const { name = "unknown", version = "unknown" } = client.getServerVersion() ?? {}
  return {
    name,
    version,
    protocolVersion,
    capabilities: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      subscribe: resources?.subscribe === true
    },
    instructions: client.getInstructions()
  }
}

/** What tells a session apart from others of the same SDK. */
export interface LegacySessionOptions {
  readonly transport: Transport
  /** Why the session ended, where the transport knows more than that it did; waits until it has. */
  readonly exitReason?: Effect.Effect<string>
  /** Done by the transport, at once, when it learns that the session is over though nothing has closed it. */
  readonly lost?: Deferred.Deferred<McpSessionError>
  /** Done by the transport when it learns that notifications cannot be heard, with what is done about it. */
  readonly notificationsUnavailable?: Deferred.Deferred<string>
  /** Waits until notifications are heard, or it is known that they are not. */
  readonly notificationsReady?: Effect.Effect<void>
  /** Waits until notifications may have been missed, and again. */
  readonly notificationsMissed?: Effect.Effect<void>
  /** Runs before the client closes, to take leave of the server. */
  readonly beforeClose?: Effect.Effect<void>
}

/** Opens a session on a transport of the v1 SDK; it closes with the scope. */
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
  const changes = yield* PubSub.sliding<McpChange | { readonly _tag: "Missed" }>(maxPendingChanges)
  const closed = lost ?? (yield* Deferred.make<McpSessionError>())
  const notificationsUnavailable = givenUnavailable ?? (yield* Deferred.make<string>())
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const closeReason = exitReason ?? Effect.map(Deferred.await(closed), ({ message }) => message)
  let protocolVersion: string | undefined

  client.fallbackNotificationHandler = async ({ method, params }) => {
    const change = decodeChange(method, params)
    if (change !== undefined) PubSub.publishUnsafe(changes, change)
  }
  // A transport that knows why its session ends says so soon after the connection does, which knows less.
  if (exitReason === undefined) {
    client.onclose = () => void Deferred.doneUnsafe(closed, Exit.succeed(closedByServer))
  }
  client.onerror = (error) => run(Effect.logDebug("MCP transport", { reason: error.message }))
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
    Effect.forever(Effect.andThen(notificationsMissed, PubSub.publish(changes, { _tag: "Missed" })))
  )
  yield* Effect.forkScoped(
    Effect.flatMap(closeReason, (message) =>
      Deferred.succeed(closed, new McpSessionError({ reason: "closed", message }))
    )
  )
  // Ends what still waits for an answer.
  yield* Effect.forkScoped(Effect.andThen(Deferred.await(closed), close))

  /** Once the session is over, that is why a request fails, whatever its own part of it was. */
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

  // A process that ends before it has answered says more about why than the broken conversation does.
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: noTimeout }),
    catch: sdkErrorToSessionError
  }).pipe(
    // A beginning over SSE that is closed under way never ends. What the SDK closes by itself, it ends with a reason.
    Effect.raceFirst(
      Effect.flatMap(Deferred.await(closed), (failure) =>
        failure === closedByServer ? Effect.never : Effect.fail(failure)
      )
    ),
    Effect.catchIf(
      ({ reason }) => reason === "closed",
      (failure) =>
        Effect.flatMap(Effect.timeoutOption(closeReason, "1 second"), (message) =>
          Effect.fail(
            message._tag === "Some"
              ? new McpSessionError({ reason: "unavailable", message: message.value })
              : failure
          )
        )
    )
  )
  const info = infoOf(client, protocolVersion)

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

  /** Subscribes, or gives up hearing of changes where a server refuses what it has advertised. */
  const subscribeOrPoll = (uri: string) =>
    Effect.catchIf(
      subscribe(uri),
      ({ code }) => code === methodNotFound && info.capabilities.subscribe,
      () => Deferred.succeed(notificationsUnavailable, subscriptionsRejected)
    )

  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    yield* Effect.timeoutOption(
      Effect.raceFirst(notificationsReady, Deferred.await(closed)),
      notificationsReadyTimeout
    )
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribeOrPoll, { discard: true })
    const polled = info.capabilities.subscribe
      ? yield* pollWhen(
          notificationsUnavailable,
          { listResources: listAllPages(listResources), readResource },
          wanted
        )
      : Stream.empty
    return Stream.fromSubscription(subscription).pipe(
      Stream.map((change) => {
        if (change._tag === "Missed") return allChanges(wanted)
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
