import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import type { ProgressCallback } from "@modelcontextprotocol/sdk/shared/protocol.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { Deferred, Effect, Exit, PubSub, type Scope, Stream } from "effect"
import { z } from "zod"
import {
  isWatched,
  type McpChange,
  McpFailure,
  type McpInfo,
  type McpPage,
  type McpProgress,
  type McpSession
} from "../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { version } from "../../version.ts"

/** Takes any object: what a server says passes through untouched, where the SDK's own schemas would strip it. */
const anyObject = z.looseObject({})

/** The SDK's timer, switched off: deadlines are set by whoever asks, and end requests by interrupting them. */
const noTimeout = 2 ** 31 - 1

/** How many changes wait for a watcher that lags. */
const changeBacklog = 1024

/** How long ending a subscription may take; the server forgets it with the session anyway. */
const unsubscribeTimeout = "1 second"

const httpStatus = (error: Error): number | undefined => {
  if ("code" in error && typeof error.code === "number" && error.code >= 100 && error.code < 600) {
    return error.code
  }
  const status = /\bHTTP (\d{3})\b/.exec(error.message)?.[1]
  return status === undefined ? undefined : Number(status)
}

/** What an error of the SDK means; messages of upstream pages are left out, they may hold anything. */
const toFailure = (error: unknown): McpFailure => {
  if (error instanceof McpError) {
    if (error.code === ErrorCode.ConnectionClosed) {
      return new McpFailure({ kind: "closed", message: "the MCP server closed the connection" })
    }
    const message = error.message.replace(/^(?:MCP error -?\d+: )+/, "")
    return new McpFailure({ kind: "protocol", message, code: error.code })
  }
  if (error instanceof UnauthorizedError) {
    return new McpFailure({ kind: "unauthorized", message: "the MCP server asks for authorization" })
  }
  if (error instanceof z.ZodError) {
    return new McpFailure({ kind: "protocol", message: "the answer is no MCP result" })
  }
  if (!(error instanceof Error)) return new McpFailure({ kind: "unavailable", message: String(error) })
  if (error.message === "Not connected") return new McpFailure({ kind: "closed", message: "not connected" })
  const status = httpStatus(error)
  if (status === 401) return new McpFailure({ kind: "unauthorized", message: "HTTP 401" })
  if (status === 403) return new McpFailure({ kind: "forbidden", message: "HTTP 403" })
  if (status !== undefined) return new McpFailure({ kind: "unavailable", message: `HTTP ${status}` })
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ""
  return new McpFailure({ kind: "unavailable", message: `${error.message}${cause}` })
}

const readPage = (result: JsonObject, items: "tools" | "resources"): McpPage => {
  const { nextCursor, [items]: found } = result
  return {
    items: Array.isArray(found) ? found.filter(isJsonObject) : [],
    nextCursor: typeof nextCursor === "string" && nextCursor !== "" ? nextCursor : undefined
  }
}

const toChange = (method: string, params: unknown): McpChange | undefined => {
  switch (method) {
    case "notifications/tools/list_changed":
      return { _tag: "ToolsChanged" }
    case "notifications/resources/list_changed":
      return { _tag: "ResourcesChanged" }
    case "notifications/resources/updated":
      return isJsonObject(params) && typeof params["uri"] === "string"
        ? { _tag: "ResourceUpdated", uri: params["uri"] }
        : undefined
    default:
      return undefined
  }
}

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
  /** Why the session ended, where the transport knows more than that it did. */
  readonly ended?: Effect.Effect<string>
  /** Runs before the client closes, to take leave of the server. */
  readonly farewell?: Effect.Effect<void>
}

/** Opens a session on a transport of the v1 SDK; it closes with the scope. */
export const openSession = Effect.fnUntraced(function* ({
  ended = Effect.never,
  farewell = Effect.void,
  transport
}: SessionOptions): Effect.fn.Return<McpSession, McpFailure, Scope.Scope> {
  const client = new Client({ name: "a2c-smcp", version }, { capabilities: {} })
  const changes = yield* PubSub.sliding<McpChange>(changeBacklog)
  const closed = yield* Deferred.make<McpFailure>()
  const run = Effect.runForkWith(yield* Effect.context<never>())
  let protocolVersion: string | undefined

  client.fallbackNotificationHandler = async ({ method, params }) => {
    const change = toChange(method, params)
    if (change !== undefined) PubSub.publishUnsafe(changes, change)
  }
  client.onclose = () => {
    Deferred.doneUnsafe(
      closed,
      Exit.succeed(new McpFailure({ kind: "closed", message: "the MCP server closed the connection" }))
    )
  }
  client.onerror = (error) => run(Effect.logDebug("MCP transport", { reason: error.message }))
  const known = transport.setProtocolVersion?.bind(transport)
  transport.setProtocolVersion = (version) => {
    protocolVersion = version
    known?.(version)
  }

  yield* Effect.addFinalizer(() =>
    Effect.andThen(farewell, Effect.ignore(Effect.tryPromise(() => client.close())))
  )
  yield* Effect.forkScoped(
    Effect.flatMap(ended, (message) => Deferred.succeed(closed, new McpFailure({ kind: "closed", message })))
  )

  const request = (
    method: string,
    params: JsonObject,
    onprogress?: ProgressCallback
  ): Effect.Effect<JsonObject, McpFailure> =>
    Effect.tryPromise({
      try: (signal) =>
        client.request({ method, params: { ...params } }, anyObject, {
          signal,
          timeout: noTimeout,
          ...(onprogress !== undefined && { onprogress })
        }),
      catch: toFailure
    })

  // A process that ends before it has answered says more about why than the broken conversation does.
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: noTimeout }),
    catch: toFailure
  }).pipe(
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

  const watch: McpSession["watch"] = Effect.fnUntraced(function* (wanted) {
    const subscription = yield* PubSub.subscribe(changes)
    yield* Effect.forEach(wanted.uris, subscribe, { discard: true })
    return Stream.fromSubscription(subscription).pipe(
      Stream.filter((change) => isWatched(wanted, change)),
      Stream.interruptWhen(Deferred.await(closed))
    )
  })

  return {
    info: infoOf(client, protocolVersion),
    listTools: (cursor) =>
      Effect.map(request("tools/list", cursor === undefined ? {} : { cursor }), (result) =>
        readPage(result, "tools")
      ),
    listResources: (cursor) =>
      Effect.map(request("resources/list", cursor === undefined ? {} : { cursor }), (result) =>
        readPage(result, "resources")
      ),
    readResource: (uri) =>
      Effect.map(request("resources/read", { uri }), ({ contents }) =>
        Array.isArray(contents) ? contents.filter(isJsonObject) : []
      ),
    callTool: (name, args, { onProgress } = {}) =>
      request(
        "tools/call",
        { name, arguments: args },
        onProgress === undefined ? undefined : (progress) => void run(onProgress(toProgress(progress)))
      ),
    watch,
    ended: Deferred.await(closed)
  }
})
