import { Server, type ServerContext } from "@modelcontextprotocol/server"
import { Cause, Effect, Exit, FiberSet, Scope } from "effect"
import type { McpChange, McpFailure, McpSession } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type Asked, makeAnswers, Refusal, type Subscriptions } from "./answers.ts"
import { type Changes, makeChanges } from "./Changes.ts"
import type { TellProgress } from "./progress.ts"
import { makeSubscriptions } from "./subscriptions.ts"

/** How many requests may be under way at once, of all clients together: each costs the session behind it something. */
const mostRequests = 1024

const busy = new Refusal({ code: -32603, message: "Too many requests are under way; try again later" })

/** A session in the shape in which the SDK serves it. */
export interface Publication {
  readonly changes: Changes
  /** Runs something of a client's, and rejects with what it fails with. All is interrupted when the scope closes. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>
  /** The same, for what nobody waits for. */
  readonly fork: <A>(effect: Effect.Effect<A>) => void
  /** Waits until no request is under way. */
  readonly settled: Effect.Effect<void>
  /** A server for one request of revision 2026-07-28. */
  readonly forRequest: () => Server
  /** A server for one client, which is told changes; it ends when the SDK closes it, or with the scope. */
  readonly forClient: (era: "legacy" | "modern") => Effect.Effect<Server>
}

const notificationOf = (change: McpChange) => {
  switch (change._tag) {
    case "ToolsChanged":
      return { method: "notifications/tools/list_changed" }
    case "ResourcesChanged":
      return { method: "notifications/resources/list_changed" }
    case "ResourceUpdated":
      return { method: "notifications/resources/updated", params: { uri: change.uri } }
  }
}

const capabilitiesOf = ({ resources, subscribe, tools }: McpSession["info"]["capabilities"]) => ({
  ...(tools && { tools: { listChanged: true } }),
  ...(resources && { resources: { listChanged: true, ...(subscribe && { subscribe }) } })
})

/** A client that cannot be told something is gone, or will be soon; then its requests end by themselves. */
const send = (what: string, notify: () => Promise<void>): Effect.Effect<void> =>
  Effect.tryPromise(notify).pipe(
    Effect.catch(({ cause }) =>
      Effect.logDebug("an MCP client could not be told", { what, reason: String(cause) })
    )
  )

const progressOf = ({ _meta, notify }: ServerContext["mcpReq"]): TellProgress | undefined => {
  const progressToken = _meta?.progressToken
  return progressToken === undefined
    ? undefined
    : (progress) =>
        send("progress", () =>
          notify({ method: "notifications/progress", params: { progressToken, ...progress } })
        )
}

/**
 * Prepares a session for being served. The SDK's low-level server is used with nothing but its handler of last resort:
 * results of all others are checked against closed schemas, which would cost what a session gives its unknown members.
 */
export const makePublication = Effect.fnUntraced(function* (
  session: McpSession
): Effect.fn.Return<Publication, McpFailure, Scope.Scope> {
  const { capabilities, instructions, name, version } = session.info
  const parent = yield* Effect.scope
  const changes = yield* makeChanges(session)
  const requests = yield* FiberSet.make<JsonObject, Refusal>()
  const runRequest = yield* FiberSet.runtimePromise(requests)<never>()
  const others = yield* FiberSet.make()
  const run = yield* FiberSet.runtimePromise(others)<never>()
  const runFork = yield* FiberSet.runtime(others)<never>()
  const fork: Publication["fork"] = (effect) => void runFork(effect)
  const answer = makeAnswers(session)

  let underWay = 0
  const answering = (asked: Asked): Effect.Effect<JsonObject, Refusal> =>
    Effect.suspend(() => {
      if (underWay >= mostRequests) return busy
      underWay++
      return Effect.ensuring(
        answer(asked),
        Effect.sync(() => underWay--)
      )
    })
  /** A bug of ours, or of a session, is told to the log and not to the client. */
  const concealed = (asked: Asked) =>
    Effect.catchCauseIf(answering(asked), Cause.hasDies, (cause) =>
      Effect.andThen(
        Effect.logError("an MCP request could not be answered", { method: asked.method }, cause),
        Effect.fail(new Refusal({ code: -32603, message: "Internal error" }))
      )
    )

  const makeServer = (era: "legacy" | "modern", subscriptions: Subscriptions | undefined): Server => {
    const server = new Server(
      { name, version },
      { capabilities: capabilitiesOf(capabilities), ...(instructions !== undefined && { instructions }) }
    )
    server.fallbackRequestHandler = async ({ method, params = {} }, { http, mcpReq }) => {
      const asked: Asked = {
        method,
        params,
        progress: progressOf(mcpReq),
        subscriptions,
        needsObjects: era === "legacy"
      }
      // Over HTTP nobody can fetch the answer to a request whose connection is gone: it is given up, too.
      const gone = http?.req?.signal
      const signal = gone === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, gone])
      return { ...(await runRequest(concealed(asked), { signal })) }
    }
    return server
  }

  const forClient = Effect.fnUntraced(function* (era: "legacy" | "modern") {
    const scope = yield* Scope.fork(parent)
    const subscriptions = yield* Scope.provide(makeSubscriptions(changes), scope)
    const server = makeServer(era, era === "legacy" ? subscriptions : undefined)
    // Of the younger era the SDK picks what the client listens to; in the older one only contents are subscribed to.
    let isListening = era === "modern"
    server.oninitialized = () => {
      isListening = true
    }
    const isWanted = (change: McpChange) =>
      isListening && (era === "modern" || change._tag !== "ResourceUpdated" || subscriptions.has(change.uri))
    yield* Scope.provide(
      changes.hear((change) =>
        isWanted(change) ? send(change._tag, () => server.notification(notificationOf(change))) : Effect.void
      ),
      scope
    )
    server.onclose = () => fork(Scope.close(scope, Exit.void))
    return server
  })

  return {
    changes,
    run,
    fork,
    settled: FiberSet.awaitEmpty(requests),
    forRequest: () => makeServer("modern", undefined),
    forClient
  }
})
