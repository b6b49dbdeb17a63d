import { Clock, Duration, Effect, FiberMap, Option, type Scope, Stream } from "effect"
import { isWindowUri } from "../../domain/desktop/window.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { Part } from "../../domain/office/notice.ts"
import type { Endpoint } from "../../domain/protocol/v0_2/parameters.ts"
import {
  type McpChange,
  McpConnector,
  McpFailure,
  type McpProgress,
  type McpSession
} from "../ports/McpSession.ts"
import { makeRefresher } from "../Refresher.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { isDocument, type ReadyServer } from "./Offer.ts"
import { allPages } from "./paging.ts"
import type { Secrets } from "./Secrets.ts"

/** What a server lists. */
export type Listings = Pick<ReadyServer, "tools" | "resources">

/** What one session of a server has to say to whoever keeps it. */
export interface SessionReports {
  /** The server runs and offers this. */
  readonly ready: (session: McpSession, listings: Listings) => Effect.Effect<void>
  /** It offers something else now. */
  readonly news: (listings: Partial<Listings>) => Effect.Effect<void>
  /** Something is wrong with it that does not end the session, or is well again. */
  readonly trouble: (about: string, reason: string | undefined) => Effect.Effect<void>
  /** A part of the Computer has changed in a way that listings do not show. */
  readonly touched: (part: Part) => Effect.Effect<void>
  /** The resources whose contents concern the office, once it is ready and after every change of its listing. */
  readonly watched: Stream.Stream<ReadonlySet<string>>
}

/** A sign of life is waited for so often before the session is given up, and this long apart once one is missing. */
const pulse = { misses: 3, again: Duration.seconds(5), patience: Duration.seconds(10) }

const listTools = ({ info, listTools: page }: McpSession) =>
  info.capabilities.tools ? allPages(page) : Effect.succeed([])

/** Everything a server lists as resources; nothing where it has none. */
export const listResources = ({ info, listResources: page }: McpSession) =>
  info.capabilities.resources ? allPages(page) : Effect.succeed([])

/** What is known of a session by its calls. Times are in milliseconds since 1970. */
interface Calls {
  /** Those that run, and since when. */
  readonly running: Set<{ readonly since: number }>
  /** When one was answered last. */
  answeredAt: number
}

/** The same session, whose failures name no secret and whose calls are noted. */
const guarded = (session: McpSession, { conceal }: Secrets, calls: Calls): McpSession => {
  const safe = (failure: McpFailure) => new McpFailure({ ...failure, message: conceal(failure.message) })
  const answered = Effect.map(Clock.currentTimeMillis, (now) => void (calls.answeredAt = now))
  const noted = <A>(call: Effect.Effect<A, McpFailure>) =>
    Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (since) => {
        const running = { since }
        calls.running.add(running)
        return running
      }),
      () =>
        Effect.tapError(
          Effect.tap(call, () => answered),
          ({ kind }) => (kind === "protocol" ? answered : Effect.void)
        ),
      (running) => Effect.sync(() => void calls.running.delete(running))
    )
  return {
    ...session,
    listTools: (cursor) => Effect.mapError(session.listTools(cursor), safe),
    listResources: (cursor) => Effect.mapError(session.listResources(cursor), safe),
    readResource: (uri) => Effect.mapError(session.readResource(uri), safe),
    callTool: (name, args, { onProgress } = {}) => {
      const told =
        onProgress === undefined
          ? {}
          : {
              onProgress: ({ message, ...step }: McpProgress) =>
                onProgress({ ...step, ...(message !== undefined && { message: conceal(message) }) })
            }
      return Effect.mapError(noted(session.callTool(name, args, told)), safe)
    },
    watch: (wanted) => Effect.mapError(session.watch(wanted), safe),
    ping: Effect.mapError(session.ping, safe),
    ...(session.degraded !== undefined && { degraded: Effect.map(session.degraded, conceal) }),
    ended: Effect.map(session.ended, safe)
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
  { news, ready, touched, trouble, watched }: SessionReports
): Effect.fn.Return<McpFailure, McpFailure, Scope.Scope | McpConnector> {
  const connector = yield* McpConnector
  const { changePause, connectTimeout, livenessInterval } = yield* ComputerSettings
  const calls: Calls = { running: new Set(), answeredAt: 0 }

  const open = Effect.gen(function* () {
    const session = guarded(yield* connector.connect(name, endpoint), secrets, calls)
    const changes = yield* session.watch({ tools: true, resources: true, uris: [] })
    const tools = yield* listTools(session)
    const resources = yield* Effect.result(listResources(session))
    return { session, changes, tools, resources }
  })
  const late = new McpFailure({
    kind: "unavailable",
    message: `it did not answer within ${Duration.toSeconds(connectTimeout)} seconds`
  })
  const inTime = Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => Effect.fail(late) })
  const { changes, resources, session, tools } = yield* inTime(open).pipe(
    Effect.mapError(({ kind, message }) => new McpFailure({ kind, message: secrets.conceal(message) }))
  )

  const { refresh } = yield* makeRefresher(changePause)
  const subscriptions = yield* FiberMap.make<string, void>()
  /** Those that have failed. */
  const refused = new Set<string>()

  const onChange = (change: McpChange): Effect.Effect<void> => {
    switch (change._tag) {
      case "ToolsChanged":
        return reload("tools", listTools(session))
      case "ResourcesChanged":
        return reload("resources", listResources(session))
      case "ResourceUpdated":
        if (isWindowUri(change.uri)) return touched("desktop")
        return isDocument(change.uri) ? touched("finder") : Effect.void
    }
  }

  const well = (uri: string) =>
    Effect.suspend(() => (refused.delete(uri) ? trouble(uri, undefined) : Effect.void))

  const subscribe = (uri: string) =>
    Effect.scoped(
      session.watch({ tools: false, resources: false, uris: [uri] }).pipe(
        Effect.tap(() => well(uri)),
        Effect.flatMap(Stream.runForEach(onChange))
      )
    ).pipe(
      Effect.catch(({ message }) =>
        Effect.suspend(() => {
          refused.add(uri)
          return trouble(uri, `no word of changes of ${uri}: ${message}`)
        })
      ),
      Effect.catchDefect((defect) =>
        Effect.logError("watching a resource failed", { server: name, uri }, defect)
      )
    )

  const resubscribe = (wanted: ReadonlySet<string>) =>
    Effect.suspend(() => {
      const given = [...[...subscriptions].map(([uri]) => uri), ...refused]
      return Effect.andThen(
        Effect.forEach(
          given.filter((uri) => !wanted.has(uri)),
          (uri) => Effect.andThen(FiberMap.remove(subscriptions, uri), well(uri)),
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
    list: Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
  ): Effect.Effect<void> =>
    refresh(
      what,
      Effect.matchEffect(inTime(list), {
        onFailure: ({ message }) => trouble(what, `cannot list ${what}: ${message}`),
        onSuccess: (items) => Effect.andThen(trouble(what, undefined), news({ [what]: items }))
      })
    )

  /** Why there is no sign of life, if there is none; any answer is one. */
  const heartbeat = session.ping.pipe(
    Effect.timeoutOption(pulse.patience),
    Effect.map(
      Option.match({
        onNone: () => `it does not answer within ${Duration.toSeconds(pulse.patience)} seconds`,
        onSome: () => undefined
      })
    ),
    Effect.catch(({ kind, message }) =>
      Effect.succeed(kind === "protocol" || kind === "unsupported" ? undefined : message)
    )
  )

  /**
   * Ends when the server has given no sign of life for long. While it works on a call it may be silent, but for no call
   * that came when it was silent already: otherwise those who keep calling would keep a dead server.
   */
  const silence = Effect.gen(function* () {
    let missed = 0
    let silentSince = 0
    while (true) {
      yield* Effect.sleep(missed === 0 ? livenessInterval : pulse.again)
      const asked = yield* Clock.currentTimeMillis
      const why = yield* heartbeat
      const reason = calls.answeredAt >= asked ? undefined : why
      if (missed === 0) silentSince = asked
      missed = reason === undefined ? 0 : missed + 1
      yield* trouble("liveness", reason)
      const works = [...calls.running].some(({ since }) => since <= silentSince)
      if (reason !== undefined && missed >= pulse.misses && !works) {
        return new McpFailure({ kind: "unavailable", message: reason })
      }
    }
  })

  yield* ready(session, { tools, resources: resources._tag === "Success" ? resources.success : [] })
  if (resources._tag === "Failure") {
    yield* trouble("resources", `cannot list resources: ${resources.failure.message}`)
  }
  yield* Effect.forkScoped(Stream.runForEach(watched, resubscribe))
  yield* Effect.forkScoped(
    Effect.flatMap(session.degraded ?? Effect.never, (reason) => trouble("promises", reason))
  )
  const listening = Effect.andThen(Stream.runForEach(changes, onChange), Effect.never)
  return yield* Effect.raceAllFirst([listening, silence, session.ended])
})
