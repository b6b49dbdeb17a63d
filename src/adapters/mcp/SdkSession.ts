import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { ProgressCallback } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Deferred, Effect, Exit, PubSub, type Scope, Stream } from "effect"
import { z } from "zod"
import {
  isWatched,
  type McpChange,
  McpFailure,
  type McpInfo,
  type McpProgress,
  type McpSession
} from "../../application/ports/McpSession.ts"
import { allPages } from "../../application/computer/paging.ts"
import { version } from "../../version.ts"
import { pollWhen, refused } from "./polling.ts"
import { changeBacklog, everything, methodNotFound, readChange } from "./reading.ts"
import { closedByServer, toFailure } from "./SdkFailure.ts"
import { makeVerbs, type Ask } from "./verbs.ts"

/** Takes any object: what a server says passes through untouched, where the SDK's own schemas would strip it. */
const anyObject = z.looseObject({})

/** The SDK's timer, switched off: deadlines are set by whoever asks, and end requests by interrupting them. */
const noTimeout = 2 ** 31 - 1

/** How long ending a subscription may take; the server forgets it with the session anyway. */
const unsubscribeTimeout = "1 second"

/** How long a watch waits until notifications are heard; a stream may be open long before it shows. */
const hearingTimeout = "5 seconds"

const closedByUs = new McpFailure({ kind: "closed", message: "the session was closed" })

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
export interface SessionOptions {
  readonly transport: Transport
  /** Why the session ended, where the transport knows more than that it did; waits until it has. */
  readonly ended?: Effect.Effect<string>
  /** Done by the transport, at once, when it learns that the session is over though nothing has closed it. */
  readonly lost?: Deferred.Deferred<McpFailure>
  /** Done by the transport when it learns that notifications cannot be heard, with what is done about it. */
  readonly unheard?: Deferred.Deferred<string>
  /** Waits until notifications are heard, or it is known that they are not. */
  readonly hearing?: Effect.Effect<void>
  /** Waits until notifications may have been missed, and again. */
  readonly missed?: Effect.Effect<void>
  /** Runs before the client closes, to take leave of the server. */
  readonly farewell?: Effect.Effect<void>
}

/** Opens a session on a transport of the v1 SDK; it closes with the scope. */
export const openSession = Effect.fnUntraced(function* ({
  ended: exited,
  farewell = Effect.void,
  hearing = Effect.void,
  lost,
  missed = Effect.never,
  transport,
  unheard: deaf
}: SessionOptions): Effect.fn.Return<McpSession, McpFailure, Scope.Scope> {
  const client = new Client({ name: "a2c-smcp", version }, { capabilities: {} })
  const changes = yield* PubSub.sliding<McpChange | { readonly _tag: "Missed" }>(changeBacklog)
  const closed = lost ?? (yield* Deferred.make<McpFailure>())
  const unheard = deaf ?? (yield* Deferred.make<string>())
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const ended = exited ?? Effect.map(Deferred.await(closed), ({ message }) => message)
  let protocolVersion: string | undefined

  client.fallbackNotificationHandler = async ({ method, params }) => {
    const change = readChange(method, params)
    if (change !== undefined) PubSub.publishUnsafe(changes, change)
  }
  // A transport that knows why its session ends says so soon after the connection does, which knows less.
  if (exited === undefined) {
    client.onclose = () => void Deferred.doneUnsafe(closed, Exit.succeed(closedByServer))
  }
  client.onerror = (error) => run(Effect.logDebug("MCP transport", { reason: error.message }))
  const known = transport.setProtocolVersion?.bind(transport)
  transport.setProtocolVersion = (version) => {
    protocolVersion = version
    known?.(version)
  }

  const close = Effect.ignore(Effect.tryPromise(() => client.close()))
  yield* Effect.addFinalizer(() =>
    Deferred.succeed(closed, closedByUs).pipe(Effect.andThen(farewell), Effect.andThen(close))
  )
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(missed, PubSub.publish(changes, { _tag: "Missed" })))
  )
  yield* Effect.forkScoped(
    Effect.flatMap(ended, (message) => Deferred.succeed(closed, new McpFailure({ kind: "closed", message })))
  )
  // Ends what still waits for an answer.
  yield* Effect.forkScoped(Effect.andThen(Deferred.await(closed), close))

  /** Once the session is over, that is why a request fails, whatever its own part of it was. */
  const whyOf = (failure: McpFailure): Effect.Effect<never, McpFailure> =>
    Deferred.isDoneUnsafe(closed) ? Effect.flatMap(Deferred.await(closed), Effect.fail) : Effect.fail(failure)

  const request: Ask = (method, params, onProgress) =>
    Effect.tryPromise({
      try: (signal) =>
        client.request({ method, params: { ...params } }, anyObject, {
          signal,
          timeout: noTimeout,
          ...(onProgress !== undefined && { onprogress: (progress) => onProgress(toProgress(progress)) })
        }),
      catch: toFailure
    }).pipe(Effect.catch(whyOf))

  // A process that ends before it has answered says more about why than the broken conversation does.
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: noTimeout }),
    catch: toFailure
  }).pipe(
    // A beginning over SSE that is closed under way never ends. What the SDK closes by itself, it ends with a reason.
    Effect.raceFirst(
      Effect.flatMap(Deferred.await(closed), (why) =>
        why === closedByServer ? Effect.never : Effect.fail(why)
      )
    ),
    Effect.catchIf(
      ({ kind }) => kind === "closed",
      (failure) =>
        Effect.flatMap(Effect.timeoutOption(ended, "1 second"), (reason) =>
          Effect.fail(
            reason._tag === "Some" ? new McpFailure({ kind: "unavailable", message: reason.value }) : failure
          )
        )
    )
  )
  const info = infoOf(client, protocolVersion)

  const verbs = yield* makeVerbs(request)
  const { listResources, readResource } = verbs

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
      () => Deferred.succeed(unheard, refused)
    )

  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    yield* Effect.timeoutOption(Effect.raceFirst(hearing, Deferred.await(closed)), hearingTimeout)
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribeOrPoll, { discard: true })
    const polled = info.capabilities.subscribe
      ? yield* pollWhen(unheard, { listResources: allPages(listResources), readResource }, wanted)
      : Stream.empty
    return Stream.fromSubscription(subscription).pipe(
      Stream.map((change) => {
        if (change._tag === "Missed") return everything(wanted)
        return isWatched(wanted, change) ? [change] : []
      }),
      Stream.flattenIterable,
      Stream.merge(polled),
      Stream.interruptWhen(Deferred.await(closed))
    )
  })

  return {
    info,
    ...verbs,
    watch,
    ping: Effect.asVoid(request("ping", {})),
    ended: Deferred.await(closed),
    degraded: info.capabilities.subscribe ? Deferred.await(unheard) : Effect.never
  }
})
