import { Clock, Duration, Effect, FiberMap, Option, type Scope, Stream } from "effect"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Endpoint } from "../../../domain/config/endpointParameters.ts"
import {
  type McpChange,
  McpConnector,
  McpSessionError,
  type McpProgress,
  type McpSession
} from "../../ports/McpSession.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { isDocumentUri, type RunningMcpServer } from "./ServersSnapshot.ts"
import { listAllPages } from "../../shared/paging.ts"
import type { Secrets } from "../inputs/Secrets.ts"

/** What a server lists. */
export type Listings = Pick<RunningMcpServer, "tools" | "resources">

/** What one session of a server has to say to whoever keeps it. */
export interface SessionCallbacks {
  /** The server runs and offers this. */
  readonly onReady: (session: McpSession, listings: Listings) => Effect.Effect<void>
  /** It offers something else now. */
  readonly onListingsChanged: (listings: Partial<Listings>) => Effect.Effect<void>
  /** Something is wrong with it that does not end the session, or is well again. */
  readonly onHealthChange: (source: string, reason: string | undefined) => Effect.Effect<void>
  /** A part of the Computer has changed in a way that listings do not show. */
  readonly onPartChanged: (part: ComputerPart) => Effect.Effect<void>
  /** The resources whose contents concern the office, once it is ready and after every change of its listing. */
  readonly watchedUris: Stream.Stream<ReadonlySet<string>>
}

/** A sign of life is waited for so often before the session is given up, and this long apart once one is missing. */
const keepalive = { maxMissed: 3, retryInterval: Duration.seconds(5), timeout: Duration.seconds(10) }

const listAllTools = ({ info, listTools: page }: McpSession) =>
  info.capabilities.tools ? listAllPages(page) : Effect.succeed([])

/** Everything a server lists as resources; nothing where it has none. */
export const listAllResources = ({ info, listResources: page }: McpSession) =>
  info.capabilities.resources ? listAllPages(page) : Effect.succeed([])

/** What is known of a session by its calls. Times are in milliseconds since 1970. */
interface CallActivity {
  /** Those that run, and since when. */
  readonly running: Set<{ readonly since: number }>
  /** When one was answered last. */
  lastAnswerAt: number
}

/** The same session, whose failures name no secret and whose calls are noted. */
const instrumented = (session: McpSession, { redact }: Secrets, activity: CallActivity): McpSession => {
  const redactFailure = (failure: McpSessionError) =>
    new McpSessionError({ ...failure, message: redact(failure.message) })
  const recordAnswer = Effect.map(Clock.currentTimeMillis, (now) => void (activity.lastAnswerAt = now))
  const tracked = <A>(call: Effect.Effect<A, McpSessionError>) =>
    Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (since) => {
        const running = { since }
        activity.running.add(running)
        return running
      }),
      () =>
        Effect.tapError(
          Effect.tap(call, () => recordAnswer),
          ({ reason }) => (reason === "protocol" ? recordAnswer : Effect.void)
        ),
      (running) => Effect.sync(() => void activity.running.delete(running))
    )
  return {
    ...session,
    listTools: (cursor) => Effect.mapError(session.listTools(cursor), redactFailure),
    listResources: (cursor) => Effect.mapError(session.listResources(cursor), redactFailure),
    readResource: (uri) => Effect.mapError(session.readResource(uri), redactFailure),
    callTool: (name, args, { onProgress } = {}) => {
      const options =
        onProgress === undefined
          ? {}
          : {
              onProgress: ({ message, ...step }: McpProgress) =>
                onProgress({ ...step, ...(message !== undefined && { message: redact(message) }) })
            }
      return Effect.mapError(tracked(session.callTool(name, args, options)), redactFailure)
    },
    watch: (wanted) => Effect.mapError(session.watch(wanted), redactFailure),
    ping: Effect.mapError(session.ping, redactFailure),
    ...(session.degraded !== undefined && { degraded: Effect.map(session.degraded, redact) }),
    closed: Effect.map(session.closed, redactFailure)
  }
}

/**
 * Opens a session with a server, reports what it offers and every change of that, and gives the reason when it has
 * ended. Fails when it cannot be opened.
 */
export const runSession = Effect.fnUntraced(function* (
  name: string,
  endpoint: Endpoint,
  secrets: Secrets,
  { onListingsChanged, onReady, onPartChanged, onHealthChange, watchedUris }: SessionCallbacks
): Effect.fn.Return<McpSessionError, McpSessionError, Scope.Scope | McpConnector> {
  const connector = yield* McpConnector
  const { changeThrottle, connectTimeout, keepaliveInterval } = yield* ComputerSettings
  const activity: CallActivity = { running: new Set(), lastAnswerAt: 0 }

  const open = Effect.gen(function* () {
    const session = instrumented(yield* connector.connect(name, endpoint), secrets, activity)
    const changes = yield* session.watch({ tools: true, resources: true, uris: [] })
    const tools = yield* listAllTools(session)
    const resources = yield* Effect.result(listAllResources(session))
    return { session, changes, tools, resources }
  })
  const timeoutFailure = new McpSessionError({
    reason: "unavailable",
    message: `it did not answer within ${Duration.toSeconds(connectTimeout)} seconds`
  })
  const withTimeout = Effect.timeoutOrElse({
    duration: connectTimeout,
    orElse: () => Effect.fail(timeoutFailure)
  })
  const { changes, resources, session, tools } = yield* withTimeout(open).pipe(
    Effect.mapError(
      ({ reason, message }) => new McpSessionError({ reason, message: secrets.redact(message) })
    )
  )

  const { refresh } = yield* makeRefresher(changeThrottle)
  const subscriptions = yield* FiberMap.make<string, void>()
  /** Those that have failed. */
  const failedSubscriptions = new Set<string>()

  const onChange = (change: McpChange): Effect.Effect<void> => {
    switch (change._tag) {
      case "ToolsChanged":
        return reload("tools", listAllTools(session))
      case "ResourcesChanged":
        return reload("resources", listAllResources(session))
      case "ResourceUpdated":
        if (isWindowUri(change.uri)) return onPartChanged("desktop")
        return isDocumentUri(change.uri) ? onPartChanged("finder") : Effect.void
    }
  }

  const clearSubscriptionFailure = (uri: string) =>
    Effect.suspend(() => (failedSubscriptions.delete(uri) ? onHealthChange(uri, undefined) : Effect.void))

  const subscribe = (uri: string) =>
    Effect.scoped(
      session.watch({ tools: false, resources: false, uris: [uri] }).pipe(
        Effect.tap(() => clearSubscriptionFailure(uri)),
        Effect.flatMap(Stream.runForEach(onChange))
      )
    ).pipe(
      Effect.catch(({ message }) =>
        Effect.suspend(() => {
          failedSubscriptions.add(uri)
          return onHealthChange(uri, `no word of changes of ${uri}: ${message}`)
        })
      ),
      Effect.catchDefect((defect) =>
        Effect.logError("watching a resource failed", { server: name, uri }, defect)
      )
    )

  const resubscribe = (wanted: ReadonlySet<string>) =>
    Effect.suspend(() => {
      const previous = [...[...subscriptions].map(([uri]) => uri), ...failedSubscriptions]
      return Effect.andThen(
        Effect.forEach(
          previous.filter((uri) => !wanted.has(uri)),
          (uri) => Effect.andThen(FiberMap.remove(subscriptions, uri), clearSubscriptionFailure(uri)),
          { discard: true }
        ),
        Effect.forEach(
          [...wanted],
          (uri) => FiberMap.run(subscriptions, uri, subscribe(uri), { onlyIfMissing: true }),
          { discard: true }
        )
      )
    })

  const reload = (
    what: keyof Listings,
    list: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  ): Effect.Effect<void> =>
    refresh(
      what,
      Effect.matchEffect(withTimeout(list), {
        onFailure: ({ message }) => onHealthChange(what, `cannot list ${what}: ${message}`),
        onSuccess: (items) =>
          Effect.andThen(onHealthChange(what, undefined), onListingsChanged({ [what]: items }))
      })
    )

  /** Why there is no sign of life, if there is none; any answer is one. */
  const heartbeat = session.ping.pipe(
    Effect.timeoutOption(keepalive.timeout),
    Effect.map(
      Option.match({
        onNone: () => `it does not answer within ${Duration.toSeconds(keepalive.timeout)} seconds`,
        onSome: () => undefined
      })
    ),
    Effect.catch(({ reason, message }) =>
      Effect.succeed(reason === "protocol" || reason === "unsupported" ? undefined : message)
    )
  )

  /**
   * Ends when the server has given no sign of life for long. While it works on a call it may be silent, but for no call
   * that came when it was silent already: otherwise those who keep calling would keep a dead server.
   */
  const untilUnresponsive = Effect.gen(function* () {
    let missed = 0
    let unresponsiveSince = 0
    while (true) {
      yield* Effect.sleep(missed === 0 ? keepaliveInterval : keepalive.retryInterval)
      const pingedAt = yield* Clock.currentTimeMillis
      const problem = yield* heartbeat
      const reason = activity.lastAnswerAt >= pingedAt ? undefined : problem
      if (missed === 0) unresponsiveSince = pingedAt
      missed = reason === undefined ? 0 : missed + 1
      yield* onHealthChange("liveness", reason)
      const isBusy = [...activity.running].some(({ since }) => since <= unresponsiveSince)
      if (reason !== undefined && missed >= keepalive.maxMissed && !isBusy) {
        return new McpSessionError({ reason: "unavailable", message: reason })
      }
    }
  })

  yield* onReady(session, { tools, resources: resources._tag === "Success" ? resources.success : [] })
  if (resources._tag === "Failure") {
    yield* onHealthChange("resources", `cannot list resources: ${resources.failure.message}`)
  }
  yield* Effect.forkScoped(Stream.runForEach(watchedUris, resubscribe))
  yield* Effect.forkScoped(
    Effect.flatMap(session.degraded ?? Effect.never, (reason) => onHealthChange("promises", reason))
  )
  const listening = Effect.andThen(Stream.runForEach(changes, onChange), Effect.never)
  return yield* Effect.raceAllFirst([listening, untilUnresponsive, session.closed])
})
