import { Duration, Effect, FiberMap, Record, Result, type Scope, Stream } from "effect"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { isJsonObject, type JsonObject, toSafeJson } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { McpListings } from "../../../domain/mcpServers/McpServer.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { Endpoint } from "../../../domain/config/endpointParameters.ts"
import {
  type McpChange,
  McpConnector,
  type McpProgress,
  McpSessionError,
  type McpSession
} from "../../ports/McpSession.ts"
import { makeListingReport } from "../../shared/listings/listingReport.ts"
import { serverListings } from "../../shared/listings/serverListings.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import { type CallActivity, trackCall, untilUnresponsive } from "./keepalive.ts"
import { isDocumentUri } from "./ServersSnapshot.ts"

export interface SessionCallbacks {
  readonly onReady: (session: McpSession, listings: McpListings) => Effect.Effect<void>
  readonly onListingsChanged: (listings: Partial<McpListings>) => Effect.Effect<void>
  /** Reports a problem that does not end the session; `undefined` reports its recovery. */
  readonly onHealthChange: (source: string, reason: string | undefined) => Effect.Effect<void>
  /** Reports changed contents of resources. */
  readonly onPartChanged: (part: ComputerPart) => Effect.Effect<void>
  /** The resources to subscribe to, emitted once the server is ready and after every change of its listing. */
  readonly watchedUris: Stream.Stream<ReadonlySet<string>>
}

const redactMembers = (data: JsonObject, redact: Secrets["redact"]): JsonObject => {
  const redactValue = (value: unknown): unknown => {
    if (typeof value === "string") return redact(value)
    if (Array.isArray(value)) return value.map(redactValue)
    return isJsonObject(value) ? redactMembers(value, redact) : value
  }
  return Object.fromEntries(Object.entries(data).map(([name, value]) => [redact(name), redactValue(value)]))
}

const redactFailure =
  ({ redact }: Secrets) =>
  ({ code, data, message, output, reason }: McpSessionError): McpSessionError =>
    new McpSessionError({
      reason,
      message: redact(message),
      ...definedOnly({
        code,
        data: data && redactMembers(toSafeJson(data), redact),
        output: output === undefined ? undefined : redact(output)
      })
    })

/** Wraps a session: redacts secrets in its messages and records its calls. */
const instrumentSession = (session: McpSession, secrets: Secrets, activity: CallActivity): McpSession => {
  const { redact } = secrets
  const redacted = <A, R>(effect: Effect.Effect<A, McpSessionError, R>) =>
    Effect.mapError(effect, redactFailure(secrets))
  const requestRedacted =
    (request: NonNullable<McpSession["request"]>): NonNullable<McpSession["request"]> =>
    (method, params) =>
      redacted(request(method, params))
  return {
    ...session,
    listTools: (cursor) => redacted(session.listTools(cursor)),
    listResources: (cursor) => redacted(session.listResources(cursor)),
    readResource: (uri) => redacted(session.readResource(uri)),
    callTool: (name, params, { responder, onProgress } = {}) => {
      const redactedProgress =
        onProgress &&
        (({ message, ...step }: McpProgress) =>
          onProgress({ ...step, ...(message !== undefined && { message: redact(message) }) }))
      return redacted(
        trackCall(activity, session.callTool(name, params, definedOnly({ responder, onProgress: redactedProgress })))
      )
    },
    watch: (wanted) => redacted(session.watch(wanted)),
    ping: redacted(session.ping),
    ...(session.request !== undefined && { request: requestRedacted(session.request) }),
    ...(session.degraded !== undefined && { degraded: Effect.map(session.degraded, redact) }),
    closed: Effect.map(session.closed, redactFailure(secrets))
  }
}

/** The levels of RFC 5424 that are more severe than a notice. */
const warningLevels: ReadonlyArray<string> = ["warning", "error", "critical", "alert", "emergency"]

/** Writes a message of an MCP server to the log. Errors of a server are warnings of the Computer. */
const logMessage = (
  server: string,
  { data, level, logger }: Extract<McpChange, { readonly _tag: "Logged" }>
): Effect.Effect<void> => {
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
    Effect.scoped(
      session.watch({ tools: false, resources: false, uris: [uri] }).pipe(
        Effect.tap(() => clearFailure(uri)),
        Effect.flatMap(Stream.runForEach(onChange))
      )
    ).pipe(
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

/** Opens a session or fails, reports its listings and changes, and resolves with the reason when it ends. */
export const runSession = Effect.fnUntraced(function* (
  name: string,
  endpoint: Endpoint,
  secrets: Secrets,
  { onListingsChanged, onReady, onPartChanged, onHealthChange, watchedUris }: SessionCallbacks
): Effect.fn.Return<McpSessionError, McpSessionError, Scope.Scope | McpConnector> {
  const connector = yield* McpConnector
  const { changeThrottle, connectTimeout, keepaliveInterval } = yield* ComputerSettings
  const activity: CallActivity = { running: new Set(), lastResponseAt: 0 }

  const timeoutFailure = new McpSessionError({
    reason: "unavailable",
    message: `no response within ${Duration.toSeconds(connectTimeout)} seconds`
  })
  const withTimeout = Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => Effect.fail(timeoutFailure) })
  const report = makeListingReport({ server: name })
  const { changes, list, others, session, tools } = yield* Effect.gen(function* () {
    const session = instrumentSession(yield* connector.connect(name, endpoint), secrets, activity)
    const { prompts = false } = session.info.capabilities
    const list = Record.map(serverListings(session), (listing, what) =>
      Effect.flatMap(listing, (listed) => report(what, listed))
    )
    const changes = yield* session.watch({ tools: true, resources: true, prompts, uris: [], logs: true })
    const tools = yield* list.tools
    const others = { resources: list.resources, prompts: list.prompts, templates: list.templates }
    return { session, list, changes, tools, others: yield* Effect.all(Record.map(others, Effect.result)) }
  }).pipe(withTimeout, Effect.mapError(redactFailure(secrets)))

  const { refresh } = yield* makeRefresher(changeThrottle)
  const onChange = (change: McpChange): Effect.Effect<void> => {
    switch (change._tag) {
      case "ToolsChanged":
        return reload("tools")
      case "ResourcesChanged":
        return Effect.andThen(reload("resources"), reload("templates"))
      case "PromptsChanged":
        return reload("prompts")
      case "Logged":
        return logMessage(name, change)
      case "ResourceUpdated":
        if (isWindowUri(change.uri)) return onPartChanged("desktop")
        return isDocumentUri(change.uri) ? onPartChanged("finder") : Effect.void
    }
  }

  const reload = (what: keyof McpListings): Effect.Effect<void> =>
    refresh(
      what,
      Effect.matchEffect(withTimeout(list[what]), {
        onFailure: ({ message }) => onHealthChange(what, `cannot list ${what}: ${message}`),
        onSuccess: (items) => Effect.andThen(onHealthChange(what, undefined), onListingsChanged({ [what]: items }))
      })
    )

  const listed = Record.map(
    others,
    Result.getOrElse((): ReadonlyArray<JsonObject> => [])
  )
  yield* onReady(session, { tools, ...listed })
  for (const [what, { _tag, ...outcome }] of Object.entries(others)) {
    if ("failure" in outcome) yield* onHealthChange(what, `cannot list ${what}: ${outcome.failure.message}`)
  }
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
