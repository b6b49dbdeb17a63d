import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Deferred, Effect, Exit, FiberSet, PubSub, type Scope, Stream } from "effect"
import {
  isWatched,
  type McpChange,
  type McpSession,
  type McpSessionError,
  sessionError
} from "../../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { invalidResult } from "../jsonRpcMessages.ts"
import { asObject } from "../../../domain/json.ts"
import {
  allChanges,
  anyObject,
  clientCapabilities,
  decodeChange,
  decodeInfo,
  logLevel,
  maxPendingChanges,
  noTimeout,
  attemptBriefly,
  type SendRequest
} from "./mcpMessages.ts"
import { pollWhen, subscriptionsRejected } from "./resourcePolling.ts"
import { closedByServer, sdkErrorToSessionError } from "./http/connectionFailures.ts"
import { makeInputHandler } from "./inputHandler.ts"
import { makeSessionRequests } from "./sessionRequests.ts"
import { type McpConnection, measureSession } from "../mcpTelemetry.ts"

/** How long a watch waits for the notification stream: an open stream may be silent. */
const notificationsReadyTimeout = "5 seconds"

const closedByUs = sessionError("closed", "the session was closed")

/** The transport and what it knows beyond the SDK's interface. */
export interface LegacySessionOptions extends McpConnection {
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
  (method, params, { responder, onProgress, onSent } = {}) =>
    Effect.tryPromise({
      try: (signal) => {
        onSent?.(client["_requestMessageId"])
        return client.request({ method, params: { ...params } }, anyObject, {
          signal,
          timeout: noTimeout,
          ...(onProgress !== undefined && { onprogress: onProgress })
        })
      },
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

/** A change, or the news that some may have been missed. */
type Announced = McpChange | "missed"

/** Makes the watches of a session, which poll resources where a server rejects the subscriptions that it advertises. */
const makeWatch = (
  request: SendRequest,
  { info, ...source }: Pick<McpSession, "info" | "listResources" | "readResource">,
  changes: PubSub.PubSub<Announced>,
  notificationsUnavailable: Deferred.Deferred<string>
): McpSession["watch"] => {
  const { subscribe: canSubscribe } = info.capabilities
  /** Subscribes, or falls back to polling when the server rejects what it advertises. */
  const subscribe = Effect.fnUntraced(
    function* (uri: string) {
      // Only the fact of a result counts.
      yield* Effect.catchIf(
        request("resources/subscribe", { uri }),
        ({ message }) => message === invalidResult.message,
        () => Effect.void
      )
      // The server drops subscriptions with the session anyway.
      yield* Effect.addFinalizer(() => attemptBriefly(request("resources/unsubscribe", { uri })))
    },
    Effect.catchIf(
      ({ code }) => code === jsonRpcCodes.methodNotFound && canSubscribe,
      () => Deferred.succeed(notificationsUnavailable, subscriptionsRejected)
    )
  )

  return Effect.fnUntraced(function* (wanted) {
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribe, { discard: true })
    const polled = canSubscribe ? yield* pollWhen(notificationsUnavailable, source, wanted) : Stream.empty
    return Stream.fromSubscription(subscription).pipe(
      Stream.map((change) => (change === "missed" ? allChanges(wanted) : isWatched(wanted, change) ? [change] : [])),
      Stream.flattenIterable,
      Stream.merge(polled)
    )
  })
}

/** Opens a session over a transport of the v1 SDK. It closes with the scope. */
export const openLegacySession = Effect.fnUntraced(function* ({
  beforeClose = Effect.void,
  notificationsReady = Effect.void,
  notificationsMissed = Effect.never,
  transport,
  lost = Deferred.makeUnsafe(),
  notificationsUnavailable = Deferred.makeUnsafe(),
  ...connection
}: LegacySessionOptions): Effect.fn.Return<McpSession, McpSessionError, Scope.Scope> {
  const client = new Client({ name: "a2c-smcp", version: packageVersion }, { capabilities: clientCapabilities })
  const changes = yield* PubSub.sliding<Announced>(maxPendingChanges)
  const closed = Deferred.await(lost)
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
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(notificationsMissed, PubSub.publish(changes, "missed"))))
  // Rejects pending requests.
  yield* Effect.forkScoped(Effect.andThen(closed, close))

  const request = makeRequest(client, lost, inputs)
  yield* connect(client, transport, closed)
  yield* measureSession("client", connection.network, () => protocolVersion)
  const capabilities = asObject(client.getServerCapabilities())
  const info = decodeInfo(protocolVersion, {
    capabilities,
    instructions: client.getInstructions(),
    serverInfo: client.getServerVersion()
  })
  // A server decides itself what it logs when it rejects this.
  if (capabilities["logging"] !== undefined) {
    yield* Effect.forkScoped(Effect.ignore(request("logging/setLevel", { level: logLevel })))
  }

  const requests = yield* makeSessionRequests(request, true, { ...connection, version: protocolVersion })
  const watch = makeWatch(request, { info, ...requests }, changes, notificationsUnavailable)
  /** Resolves once it is known whether notifications arrive. */
  const decided = Effect.raceAllFirst([notificationsReady, Deferred.await(notificationsUnavailable), closed])
  return {
    info,
    ...requests,
    watch: (wanted) =>
      Effect.timeoutOption(decided, notificationsReadyTimeout).pipe(
        Effect.andThen(watch(wanted)),
        Effect.map(Stream.interruptWhen(closed))
      ),
    ping: Effect.asVoid(request("ping", {})),
    closed,
    degraded: info.capabilities.subscribe ? Deferred.await(notificationsUnavailable) : Effect.never
  }
})
