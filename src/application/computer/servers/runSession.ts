import { Duration, Effect, FiberMap, Match, Record, Result, Stream, Clock, Fiber } from "effect"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { asObject, isJsonObject, type JsonObject, toSafeJson } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { McpListings } from "../../../domain/mcpServers/McpServer.ts"
import { partsUri } from "../../../domain/page/Inspection.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Endpoint } from "../../../domain/config/endpointParameters.ts"
import { isInstaller } from "../../../domain/mcpServers/installerProblem.ts"
import { type McpChange, McpConnector, McpSessionError, type McpSession, sessionError } from "../../ports/McpSession.ts"
import { ServerOutput } from "../../ports/mcp/ServerOutput.ts"
import { makeListingReport, serverListings } from "../../shared/listings/serverListings.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { readParts } from "../../shared/page/partsResource.ts"
import { isDocumentUri, uriOf } from "./ServersSnapshot.ts"

/** The calls of one session. Times are in milliseconds since 1970. */
export interface CallActivity {
  readonly running: Set<{ readonly since: number }>
  lastResponseAt: number
}

/** Pings a session has to miss before it is unresponsive, and how soon a missed ping is repeated. */
const keepalive = { maxMissed: 3, retryInterval: Duration.seconds(5), timeout: Duration.seconds(10) }

/** Records a call and its response; a protocol error is also a response. */
export const trackCall = <A>(activity: CallActivity, call: Effect.Effect<A, McpSessionError>) => {
  const recordResponse = Effect.map(Clock.currentTimeMillis, (now) => void (activity.lastResponseAt = now))
  return Effect.acquireUseRelease(
    Effect.map(Clock.currentTimeMillis, (since) => {
      const running = { since }
      activity.running.add(running)
      return running
    }),
    () =>
      call.pipe(
        Effect.tap(() => recordResponse),
        Effect.tapError(({ reason }) => (reason === "protocol" ? recordResponse : Effect.void))
      ),
    (running) => Effect.sync(() => void activity.running.delete(running))
  )
}

/** Gives the reason of a failed ping; any response, even an error, is no failure. */
const findPingFailure = (ping: Effect.Effect<void, McpSessionError>): Effect.Effect<string | undefined> =>
  Effect.match(ping, {
    onSuccess: () => undefined,
    onFailure: ({ reason, message }) => (reason === "protocol" || reason === "unsupported" ? undefined : message)
  })

const timeoutMessage = `no response within ${Duration.toSeconds(keepalive.timeout)} seconds`

/**
 * Pings a session at an interval until it is unresponsive, and resolves with the reason. A server that executes a call
 * may miss pings. Calls that started during the silence do not count: frequent callers would keep a dead server. A response
 * that comes until the end of the next ping also counts.
 */
export const untilUnresponsive = Effect.fnUntraced(function* (
  ping: Effect.Effect<void, McpSessionError>,
  activity: CallActivity,
  interval: Duration.Duration,
  onHealthChange: (reason: string | undefined) => Effect.Effect<void>
): Effect.fn.Return<McpSessionError> {
  let missed = 0
  let unresponsiveSince = 0
  /** A ping was answered since the last check, maybe an earlier one. */
  let isAnswered = false
  let previous: Fiber.Fiber<unknown> | undefined
  while (true) {
    yield* Effect.sleep(missed === 0 ? interval : keepalive.retryInterval)
    const pingedAt = yield* Clock.currentTimeMillis
    const pinging = yield* Effect.forkChild(
      Effect.tap(findPingFailure(ping), (reason) => Effect.sync(() => void (isAnswered ||= reason === undefined)))
    )
    const failure = yield* Effect.timeoutOrElse(Fiber.join(pinging), {
      duration: keepalive.timeout,
      orElse: () => Effect.succeed(timeoutMessage)
    })
    if (previous !== undefined) yield* Fiber.interrupt(previous)
    previous = pinging
    const reason = activity.lastResponseAt >= pingedAt || isAnswered ? undefined : failure
    isAnswered = false
    if (missed === 0) unresponsiveSince = pingedAt
    missed = reason === undefined ? 0 : missed + 1
    yield* onHealthChange(reason)
    const isBusy = [...activity.running].some(({ since }) => since <= unresponsiveSince)
    if (reason !== undefined && missed >= keepalive.maxMissed && !isBusy) {
      return new McpSessionError({ reason: "unavailable", message: reason })
    }
  }
})

interface SessionCallbacks {
  readonly onListingsChanged: (listings: Partial<McpListings>) => Effect.Effect<void>
  /** Reports a problem that does not end the session; `undefined` reports its recovery. */
  readonly onHealthChange: (source: string, reason: string | undefined) => Effect.Effect<void>
  readonly onPartChanged: (part: ComputerPart) => Effect.Effect<void>
  /** The resources to subscribe to, emitted once the server is ready and after every change of its listing. */
  readonly watchedUris: Stream.Stream<ReadonlySet<string>>
}

const redactJson = (value: unknown, redact: Secrets["redact"]): unknown => {
  if (typeof value === "string") return redact(value)
  if (Array.isArray(value)) return value.map((item) => redactJson(item, redact))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [redact(name), redactJson(member, redact)]))
}

const redactFailure =
  ({ redact }: Secrets) =>
  ({ code, data, message, output, reason }: McpSessionError): McpSessionError =>
    new McpSessionError({
      reason,
      message: redact(message),
      ...definedOnly({
        code,
        data: data && asObject(redactJson(toSafeJson(data), redact)),
        output: output === undefined ? undefined : redact(output)
      })
    })

/** Wraps a session: redacts secrets in its messages and records its calls. */
const instrumentSession = (session: McpSession, secrets: Secrets, activity: CallActivity): McpSession => {
  const { redact } = secrets
  const { callTool, closed, degraded, request } = session
  const redacted = <A, R>(effect: Effect.Effect<A, McpSessionError, R>) =>
    Effect.mapError(effect, redactFailure(secrets))
  return {
    ...session,
    listTools: (cursor) => redacted(session.listTools(cursor)),
    listResources: (cursor) => redacted(session.listResources(cursor)),
    readResource: (uri) => redacted(session.readResource(uri)),
    callTool: (name, params, { onProgress: report, ...options } = {}) => {
      const onProgress: typeof report =
        report && ((step) => report(step.message === undefined ? step : { ...step, message: redact(step.message) }))
      return redacted(trackCall(activity, callTool(name, params, { ...options, ...definedOnly({ onProgress }) })))
    },
    watch: (wanted) => redacted(session.watch(wanted)),
    ping: redacted(session.ping),
    ...(request && { request: (method, params) => redacted(request(method, params)) }),
    ...(degraded && { degraded: Effect.map(degraded, redact) }),
    closed: Effect.map(closed, redactFailure(secrets))
  }
}

/** The levels of RFC 5424 that are more severe than a notice. */
const warningLevels: ReadonlyArray<string> = ["warning", "error", "critical", "alert", "emergency"]

/** Writes a message of an MCP server to the log. Errors of a server are warnings of the Computer. */
const logMessage = (server: string, { data, level, logger }: Extract<McpChange, { readonly _tag: "Logged" }>) => {
  const write = warningLevels.includes(level) ? Effect.logWarning : level === "debug" ? Effect.logDebug : Effect.logInfo
  return write("MCP server log", { server, level, ...definedOnly({ logger }), data })
}

/** Makes the subscriptions to resources of a session, which a call changes to the URIs that it names. */
const makeSubscriptions = Effect.fnUntraced(function* (
  server: string,
  session: McpSession,
  onChange: (change: McpChange) => Effect.Effect<void>,
  onHealthChange: SessionCallbacks["onHealthChange"]
) {
  const subscriptions = yield* FiberMap.make<string, void>()
  const failed = new Set<string>()

  const clearFailure = (uri: string) =>
    Effect.suspend(() => (failed.delete(uri) ? onHealthChange(uri, undefined) : Effect.void))

  const subscribe = (uri: string) =>
    session.watch({ tools: false, resources: false, uris: [uri] }).pipe(
      Effect.tap(() => clearFailure(uri)),
      Effect.flatMap(Stream.runForEach(onChange)),
      Effect.scoped,
      Effect.catch(({ message }) => {
        failed.add(uri)
        return onHealthChange(uri, `cannot subscribe to ${uri}: ${message}`)
      }),
      Effect.catchDefect((defect) => Effect.logError("resource subscription failed", { server, uri }, defect))
    )

  return Effect.fnUntraced(function* (wanted: ReadonlySet<string>) {
    const previous = [...[...subscriptions].map(([uri]) => uri), ...failed]
    for (const uri of previous.filter((uri) => !wanted.has(uri))) {
      yield* FiberMap.remove(subscriptions, uri)
      yield* clearFailure(uri)
    }
    for (const uri of wanted) yield* FiberMap.run(subscriptions, uri, subscribe(uri), { onlyIfMissing: true })
  })
})

/** After this time without an answer the owner learns what the server may be waiting for. */
const slowStart = "5 seconds"

/** What a server that does not answer may be doing. */
const slowReason = (endpoint: Endpoint): string =>
  endpoint.type === "stdio" && isInstaller(endpoint.command)
    ? `${endpoint.command} may be loading the package; is its registry reachable?`
    : "it has not answered"

/** Opens a session and lists what its server has. Fails without its tools; the other lists may have failed. */
export const connectAndList = Effect.fnUntraced(function* (name: string, endpoint: Endpoint, secrets: Secrets) {
  const connector = yield* McpConnector
  const { connectTimeout } = yield* ComputerSettings
  const activity: CallActivity = { running: new Set(), lastResponseAt: 0 }
  let output: string | undefined
  const late = `no response within ${Duration.toSeconds(connectTimeout)} seconds`
  const withTimeout = Effect.timeoutOrElse({
    duration: connectTimeout,
    orElse: () => Effect.fail(sessionError("unavailable", late, output))
  })
  const warnWhenSlow = Effect.sleep(slowStart).pipe(
    Effect.andThen(
      Effect.suspend(() =>
        Effect.logWarning("MCP server does not answer yet", {
          server: name,
          reason: slowReason(endpoint),
          ...definedOnly({ output: output && secrets.redact(output) })
        })
      )
    ),
    Effect.andThen(Effect.never)
  )
  const report = makeListingReport({ server: name })
  return yield* Effect.gen(function* () {
    const connecting = Effect.updateService(
      connector.connect(name, endpoint),
      ServerOutput,
      (record) => (server, line) => {
        output = line
        record(server, line)
      }
    )
    const session = instrumentSession(yield* Effect.raceFirst(connecting, warnWhenSlow), secrets, activity)
    const { prompts = false } = session.info.capabilities
    const lists = Record.map(serverListings(session), (listing, what) =>
      Effect.flatMap(listing, (listed) => report(what, listed))
    )
    const changes = yield* session.watch({ tools: true, resources: true, prompts, uris: [], logs: true })
    const { tools: listTools, ...others } = lists
    const tools = yield* listTools
    const listed = yield* Effect.all(Record.map(others, Effect.result))
    const listings: McpListings = {
      tools,
      ...Record.map(
        listed,
        Result.getOrElse((): ReadonlyArray<JsonObject> => [])
      )
    }
    return { name, session, secrets, activity, changes, lists: Record.map(lists, withTimeout), listed, listings }
  }).pipe(withTimeout, Effect.mapError(redactFailure(secrets)))
})

/** Makes the report of the failed parts of a session, such as tool packs, whose function it lacks while it runs. */
const makePartsReport = (
  { listings, name, secrets, session }: OpenedSession,
  onHealthChange: SessionCallbacks["onHealthChange"]
): Effect.Effect<void> => {
  if (!listings.resources.some((resource) => uriOf(resource) === partsUri)) return Effect.void
  let known: ReadonlyArray<string> = []
  return Effect.gen(function* () {
    const parts = yield* readParts(name, session)
    if (parts === undefined) return
    const failed = new Map<string, string>(
      parts.flatMap(({ kind, name: part, reason = "", state }) =>
        state === "failed" ? [[`${kind} ${part}`, secrets.redact(`${kind} ${part} failed: ${reason}`)] as const] : []
      )
    )
    for (const source of known) if (!failed.has(source)) yield* onHealthChange(source, undefined)
    for (const [source, reason] of failed) yield* onHealthChange(source, reason)
    known = [...failed.keys()]
  })
}

type OpenedSession = Effect.Success<ReturnType<typeof connectAndList>>

/** Reports the changes of an open session, and resolves with the reason when it ends. */
export const followSession = Effect.fnUntraced(function* (
  opened: OpenedSession,
  { onListingsChanged, onPartChanged, onHealthChange, watchedUris }: SessionCallbacks
) {
  const { activity, changes, listed, lists, name, session } = opened
  const { changeThrottle, keepaliveInterval } = yield* ComputerSettings
  const { refresh } = yield* makeRefresher(changeThrottle)
  const onListingFailed = (what: string, { message }: McpSessionError) =>
    onHealthChange(what, `cannot list ${what}: ${message}`)

  const reload = (what: keyof McpListings): Effect.Effect<void> =>
    refresh(
      what,
      Effect.matchEffect(lists[what], {
        onFailure: (error) => onListingFailed(what, error),
        onSuccess: (items) => Effect.andThen(onHealthChange(what, undefined), onListingsChanged({ [what]: items }))
      })
    )
  const reportParts = refresh("parts", makePartsReport(opened, onHealthChange))
  const onChange = Match.typeTags<McpChange, Effect.Effect<void>>()({
    ToolsChanged: () => Effect.andThen(reload("tools"), reportParts),
    ResourcesChanged: () => Effect.andThen(reload("resources"), reload("templates")),
    PromptsChanged: () => reload("prompts"),
    Logged: (change) => logMessage(name, change),
    ResourceUpdated: ({ uri }) => {
      if (isWindowUri(uri)) return onPartChanged("desktop")
      return isDocumentUri(uri) ? onPartChanged("finder") : Effect.void
    }
  })

  for (const [what, outcome] of Object.entries(listed)) {
    if (Result.isFailure(outcome)) yield* onListingFailed(what, outcome.failure)
  }
  yield* reportParts
  if (session.info.capabilities.subscribe) {
    const resubscribe = yield* makeSubscriptions(name, session, onChange, onHealthChange)
    // Every change of any server wakes the stream.
    yield* Effect.forkScoped(Stream.runForEach(watchedUris, resubscribe))
  }
  yield* Effect.forkScoped(
    Effect.flatMap(session.degraded ?? Effect.never, (reason) => onHealthChange("notifications", reason))
  )
  const listening = Effect.andThen(Stream.runForEach(changes, onChange), Effect.never)
  const unresponsive = untilUnresponsive(session.ping, activity, keepaliveInterval, (reason) =>
    onHealthChange("keepalive", reason)
  )
  return yield* Effect.raceAllFirst([listening, unresponsive, session.closed])
})
