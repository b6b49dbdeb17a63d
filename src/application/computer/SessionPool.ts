import { Duration, Effect, Exit, FiberMap, FiberSet, Ref, Result, Scope, Stream } from "effect"
import { referencedInputs, render } from "../../domain/config/placeholders.ts"
import { isWindowUri } from "../../domain/desktop/window.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { Part } from "../../domain/office/notice.ts"
import type { ComputerConfig, ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { readEndpoint } from "../../domain/protocol/v0_2/parameters.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import { McpConnector, type McpChange, McpFailure, type McpSession } from "../ports/McpSession.ts"
import { makeRefresher } from "../Refresher.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { Inputs, resolveAll } from "./Inputs.ts"
import {
  announced,
  isDocument,
  type Offer,
  offerOf,
  type ReadyServer,
  type ServerState,
  watched
} from "./Offer.ts"
import { allPages } from "./paging.ts"

/** The MCP servers of a Computer. */
export interface SessionPool {
  /** Running servers, in configuration order. */
  readonly ready: () => ReadonlyArray<ReadyServer>
  /** The running server of this name. */
  readonly find: (name: string) => ReadyServer | undefined
  /** Every configured server and its state. */
  readonly states: () => ReadonlyMap<string, ServerState>
  readonly catalogue: () => Catalogue
  /** Lists a server's resources anew, so that what it did not announce is seen, too. */
  readonly relist: (server: ReadyServer) => Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>
  /** Waits until every server runs or has failed. */
  readonly started: Effect.Effect<void>
}

/** Our own fault; the log says more. */
const broken = new McpFailure({ kind: "unavailable", message: "internal error" })

/**
 * Starts every enabled server of a configuration, all at once, for as long as the scope. One that fails stops nobody.
 * `announce` hears which part of the Computer changed, exactly when it did.
 */
export const makeSessionPool = Effect.fnUntraced(function* (
  config: ComputerConfig,
  announce: (part: Part) => Effect.Effect<void>
): Effect.fn.Return<SessionPool, never, Scope.Scope | McpConnector | Inputs> {
  const connector = yield* McpConnector
  const inputs = yield* Inputs
  const { connectTimeout, readTimeout } = yield* ComputerSettings
  const home = yield* Effect.scope
  const scopes = new Set<Scope.Closeable>()
  const close = (scope: Scope.Closeable) =>
    Effect.andThen(
      Effect.sync(() => scopes.delete(scope)),
      Scope.close(scope, Exit.void)
    )
  yield* Effect.addFinalizer(() =>
    Effect.forEach([...scopes], close, { concurrency: "unbounded", discard: true })
  )
  const starting = yield* FiberSet.make<void>()

  const servers = Object.values(config.servers)
  const offer = yield* Ref.make(
    offerOf(
      new Map(servers.map(({ disabled, name }) => [name, { _tag: disabled ? "Disabled" : "Starting" }]))
    )
  )

  const warnHidden = (before: Offer, after: Offer) =>
    Effect.forEach(
      after.catalogue.hidden.filter(
        ({ name, reason, server }) =>
          reason !== "forbidden" &&
          !before.catalogue.hidden.some((one) => one.server === server && one.name === name)
      ),
      ({ name, original, reason, server }) =>
        Effect.logWarning("tool hidden", { server, tool: original, name, reason }),
      { discard: true }
    )

  /** Sets the state of a server and announces whatever the office now sees differently. */
  const become = Effect.fnUntraced(function* (
    name: string,
    change: (state: ServerState | undefined) => ServerState
  ) {
    const [before, after] = yield* Ref.modify(offer, (current) => {
      const next = offerOf(new Map(current.states).set(name, change(current.states.get(name))))
      return [[current, next] as const, next]
    })
    yield* warnHidden(before, after)
    yield* Effect.forEach(
      announced.filter((part) => before.parts[part] !== after.parts[part]),
      announce,
      { discard: true }
    )
  })

  const listTools = ({ info, listTools: page }: McpSession) =>
    info.capabilities.tools ? allPages(page) : Effect.succeed([])
  const listResources = ({ info, listResources: page }: McpSession) =>
    info.capabilities.resources ? allPages(page) : Effect.succeed([])

  const endpointOf = Effect.fnUntraced(function* ({ name, parameters, type }: ServerConfig) {
    const values = yield* resolveAll(config.inputs, referencedInputs(parameters), name)
    const { unknown, value } = render(parameters, (id) => values.get(id))
    for (const id of unknown) yield* Effect.logWarning("unknown input left as it is", { server: name, id })
    return yield* Effect.mapError(
      Effect.fromResult(readEndpoint(type, value)),
      (message) => new McpFailure({ kind: "unavailable", message })
    )
  })

  /** Keeps a running server's lists fresh and passes on what it tells, until its scope closes. */
  const follow = Effect.fnUntraced(function* (
    name: string,
    session: McpSession,
    changes: Stream.Stream<McpChange>
  ) {
    const { refresh } = yield* makeRefresher
    const subscriptions = yield* FiberMap.make<string, void>()

    const tellUpdate = (uri: string): Effect.Effect<void> => {
      if (isWindowUri(uri)) return announce("desktop")
      return isDocument(uri) ? announce("finder") : Effect.void
    }
    const onChange = (change: McpChange): Effect.Effect<void> => {
      switch (change._tag) {
        case "ToolsChanged":
          return reload("tools", listTools(session), (tools) => ({ tools }))
        case "ResourcesChanged":
          return reload("resources", listResources(session), (resources) => ({ resources }))
        case "ResourceUpdated":
          return tellUpdate(change.uri)
      }
    }
    const subscribe = (uri: string) =>
      Effect.scoped(
        Effect.flatMap(
          session.watch({ tools: false, resources: false, uris: [uri] }),
          Stream.runForEach(onChange)
        )
      ).pipe(
        Effect.catch(({ message }) =>
          Effect.logWarning("cannot subscribe", { server: name, uri, reason: message })
        )
      )
    const resubscribe = Effect.suspend(() => {
      const server = Ref.getUnsafe(offer).ready.find(({ config: { name: one } }) => one === name)
      const wanted = server === undefined ? new Set<string>() : watched(server)
      const given = [...subscriptions].map(([uri]) => uri)
      return Effect.andThen(
        Effect.forEach(
          given.filter((uri) => !wanted.has(uri)),
          (uri) => FiberMap.remove(subscriptions, uri),
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
      what: string,
      list: Effect.Effect<ReadonlyArray<JsonObject>, McpFailure>,
      news: (items: ReadonlyArray<JsonObject>) => Partial<ReadyServer>
    ): Effect.Effect<void> =>
      refresh(
        what,
        Effect.matchEffect(list, {
          onFailure: ({ message }) =>
            Effect.logWarning("cannot list", { server: name, what, reason: message }),
          onSuccess: (items) =>
            Effect.andThen(
              become(name, (state) =>
                state?._tag === "Ready" ? { ...state, ...news(items) } : (state ?? { _tag: "Starting" })
              ),
              resubscribe
            )
        })
      )

    yield* resubscribe
    yield* Stream.runForEach(changes, onChange)
  })

  const run = Effect.fnUntraced(function* (server: ServerConfig) {
    const { name } = server
    const session = yield* Effect.flatMap(endpointOf(server), (endpoint) => connector.connect(name, endpoint))
    const changes = yield* session.watch({ tools: true, resources: true, uris: [] })
    const tools = yield* listTools(session)
    const resources = yield* Effect.catch(listResources(session), ({ message }) =>
      Effect.as(Effect.logWarning("cannot list resources", { server: name, reason: message }), [])
    )
    yield* become(name, () => ({ _tag: "Ready", config: server, session, tools, resources }))
    yield* Effect.logInfo("MCP server ready", {
      server: name,
      tools: tools.length,
      resources: resources.length
    })
    return { session, changes }
  })

  const fail = (name: string, reason: string) =>
    Effect.andThen(
      Effect.logWarning("MCP server failed", { server: name, reason }),
      become(name, () => ({ _tag: "Failed", reason }))
    )

  const start = Effect.fnUntraced(function* (server: ServerConfig) {
    const { name } = server
    const scope = yield* Scope.make()
    scopes.add(scope)
    const late = new McpFailure({
      kind: "unavailable",
      message: `it did not answer within ${Duration.toSeconds(connectTimeout)} seconds`
    })
    const opened = yield* run(server).pipe(
      Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => Effect.fail(late) }),
      Scope.provide(scope),
      Effect.provideService(Inputs, inputs),
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("starting an MCP server failed", { server: name }, defect),
          Effect.fail(broken)
        )
      ),
      Effect.result
    )
    if (Result.isFailure(opened)) {
      yield* close(scope)
      return yield* fail(name, opened.failure.message)
    }
    const { changes, session } = opened.success
    const living = Effect.scoped(follow(name, session, changes))
    yield* Effect.forkIn(
      Effect.raceFirst(Effect.andThen(living, Effect.never), session.ended).pipe(
        Effect.flatMap(({ message }) => fail(name, message)),
        Effect.catchDefect((defect) =>
          Effect.andThen(
            Effect.logError("watching an MCP server failed", { server: name }, defect),
            fail(name, broken.message)
          )
        ),
        Effect.ensuring(close(scope))
      ),
      home
    )
  })

  yield* Effect.forEach(
    servers.filter(({ disabled }) => !disabled),
    (server) => FiberSet.run(starting, start(server)),
    { discard: true }
  )

  return {
    ready: () => Ref.getUnsafe(offer).ready,
    find: (name) => Ref.getUnsafe(offer).ready.find(({ config: { name: one } }) => one === name),
    states: () => Ref.getUnsafe(offer).states,
    catalogue: () => Ref.getUnsafe(offer).catalogue,
    relist: ({ config: { name }, session }) =>
      listResources(session).pipe(
        Effect.timeoutOrElse({
          duration: readTimeout,
          orElse: () => Effect.fail(new McpFailure({ kind: "unavailable", message: "it lists too slowly" }))
        }),
        Effect.tap((resources) =>
          become(name, (state) =>
            state?._tag === "Ready" ? { ...state, resources } : (state ?? { _tag: "Starting" })
          )
        )
      ),
    started: FiberSet.awaitEmpty(starting)
  }
})
