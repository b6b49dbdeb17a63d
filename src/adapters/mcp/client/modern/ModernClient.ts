import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  SdkHttpError,
  SERVER_INFO_META_KEY,
  type StreamableHTTPClientTransport,
  SUBSCRIPTION_ID_META_KEY
} from "@modelcontextprotocol/client"
import { Deferred, Effect, Exit, FiberSet, PubSub, Queue } from "effect"
import { type McpChange, type McpSessionError, sessionError } from "../../../../application/ports/McpSession.ts"
import { errorMessage } from "../../../../domain/errorMessage.ts"
import { asObject, type JsonObject, stringOrEmpty } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { packageVersion } from "../../../../domain/packageVersion.ts"
import { connectionResetFailure, jsonRpcErrorToSessionError } from "../http/connectionFailures.ts"
import { awaitTask } from "../clientTasks.ts"
import { answerInputs } from "../inputHandler.ts"
import {
  clientCapabilities,
  decodeChange,
  httpStatusToSessionError,
  logLevel,
  maxPendingChanges,
  type RequestHandlers,
  type SendRequest
} from "../mcpMessages.ts"

/** The first MCP revision without sessions. */
export const modernRevision = "2026-07-28"

/** Limits for a server that postpones its response with `input_required`; the delay without questions. */
const inputRequiredRetry = { maxAttempts: 10, delay: "250 millis" } as const

/** Servers may make tasks of calls. */
const tasksExtension = "io.modelcontextprotocol/tasks"

/** Sent with every request. */
const requestMeta = {
  [PROTOCOL_VERSION_META_KEY]: modernRevision,
  [CLIENT_INFO_META_KEY]: { name: "a2c-smcp", version: packageVersion },
  [CLIENT_CAPABILITIES_META_KEY]: {
    ...clientCapabilities,
    extensions: { ...clientCapabilities.extensions, [tasksExtension]: {} }
  },
  [LOG_LEVEL_META_KEY]: logLevel
}

const transportErrorToSessionError = (error: unknown): McpSessionError => {
  if (error instanceof SdkHttpError) return httpStatusToSessionError(error.status, stringOrEmpty(error.data.text))
  return connectionResetFailure(error) ?? sessionError("unavailable", errorMessage(error))
}

type OnNotification = (method: string, params: JsonObject) => void

interface PendingRequest {
  readonly settle: (outcome: Effect.Effect<JsonObject, McpSessionError>) => void
  readonly onNotification: OnNotification
}

/** Makes the requests over a transport, which closes with the scope. */
const makeConnection = Effect.fnUntraced(function* (transport: StreamableHTTPClientTransport) {
  const run = yield* FiberSet.makeRuntime()
  /** Done when the connection is lost; all requests then fail with this error. */
  const lost = yield* Deferred.make<McpSessionError>()
  const pending = new Map<unknown, PendingRequest>()
  /** A lost response triggers a liveness check. */
  const livenessChecks = yield* Queue.sliding<void>(1)
  /** Log messages name no request. */
  const logged = yield* PubSub.sliding<McpChange>(maxPendingChanges)
  let count = 0

  const markLost = (reason: string): void => {
    const failure = sessionError("closed", reason)
    if (!Deferred.doneUnsafe(lost, Exit.succeed(failure))) return
    for (const { settle } of pending.values()) settle(Effect.fail(failure))
  }

  const fail = (id: unknown, failure: McpSessionError): void => {
    if (failure.reason === "closed" && pending.has(id)) Queue.offerUnsafe(livenessChecks, undefined)
    pending.get(id)?.settle(Effect.fail(failure))
  }

  transport.onmessage = (message: JSONRPCMessage) => {
    if ("result" in message) return pending.get(message.id)?.settle(Effect.succeed(message.result))
    if ("error" in message) return fail(message.id, jsonRpcErrorToSessionError(message.error, message.error.message))
    // Notifications carry a progress token or a subscription id.
    const { params = {} } = message
    if (message.method === "notifications/message") {
      const change = decodeChange(message.method, params)
      if (change !== undefined) PubSub.publishUnsafe(logged, change)
      return
    }
    const id = params["progressToken"] ?? asObject(params._meta)[SUBSCRIPTION_ID_META_KEY]
    pending.get(id)?.onNotification(message.method, params)
  }
  transport.onerror = (error) => run(Effect.logDebug("MCP client transport error", { reason: error.message }))
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sync(() => markLost("the session was closed")),
      Effect.ignore(Effect.tryPromise(() => transport.close()))
    )
  )
  yield* Effect.promise(() => transport.start())

  const sendRequest = (
    method: string,
    params: JsonObject,
    onNotification: OnNotification,
    { onProgress, onSent }: RequestHandlers = {}
  ): Effect.Effect<JsonObject, McpSessionError> =>
    Effect.callback((resume, signal) => {
      if (Deferred.isDoneUnsafe(lost)) return resume(Effect.flatMap(Deferred.await(lost), Effect.fail))
      count += 1
      const id = `${method}#${count}`
      const settle: PendingRequest["settle"] = (outcome) => {
        pending.delete(id)
        resume(outcome)
      }
      pending.set(id, { onNotification, settle })
      onSent?.(id)
      const _meta = { ...asObject(params["_meta"]), ...requestMeta, ...(onProgress && { progressToken: id }) }
      transport
        .send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }, { requestSignal: signal })
        .catch((error: unknown) => fail(id, transportErrorToSessionError(error)))
      return Effect.sync(() => void pending.delete(id))
    })

  return { sendRequest, livenessChecks, logged, lost, markLost }
})

/** Every result names the MCP server, also to a host that has another one: the office. */
const withoutServerInfo = (result: JsonObject): JsonObject => {
  const { [SERVER_INFO_META_KEY]: server, ...meta } = asObject(result["_meta"])
  if (server === undefined) return result
  const { _meta, ...others } = result
  return Object.keys(meta).length === 0 ? others : { ...others, _meta: meta }
}

/** Makes requests that answer the questions of the server, and wait for its tasks. */
const makeRequest = (sendRequest: Effect.Success<ReturnType<typeof makeConnection>>["sendRequest"]): SendRequest => {
  /** Returns the result without `resultType`. Interruption cancels the request at the server. */
  const request: SendRequest = Effect.fnUntraced(function* (method, params, { responder, onProgress, onSent } = {}) {
    const onNotification: OnNotification = (notification, content) => {
      if (notification === "notifications/progress") onProgress?.(content)
    }
    let state: JsonObject = {}
    for (let round = 0; round < inputRequiredRetry.maxAttempts; round++) {
      const response = yield* sendRequest(method, { ...params, ...state }, onNotification, { onProgress, onSent })
      const { resultType: givenType, ...result } = response
      const resultType = givenType ?? "complete"
      if (resultType === "complete") return method === "server/discover" ? result : withoutServerInfo(result)
      const { inputRequests, requestState } = result
      if (resultType === "task") return yield* awaitTask(request, result, { onProgress, responder })
      if (resultType !== "input_required") return yield* sessionError("protocol", "the response is not an MCP result")
      if (inputRequests === undefined && requestState === undefined) {
        return yield* sessionError("protocol", "MCP server postponed its response without a state")
      }
      state = { ...(requestState !== undefined && { requestState }) }
      if (inputRequests === undefined) yield* Effect.sleep(inputRequiredRetry.delay)
      else state = { ...state, inputResponses: yield* answerInputs(asObject(inputRequests), responder) }
    }
    return yield* sessionError("protocol", `MCP server postponed its response ${inputRequiredRetry.maxAttempts} times`)
  })
  return request
}

/**
 * Implements the stateless MCP revision over a transport of the v2 SDK, which closes with the scope. The SDK's client
 * is not used for two reasons. It validates results against closed schemas, so one unknown content block fails a
 * result, and one invalid tool a listing. It also does not detect a lost response.
 */
export const makeModernClient = Effect.fnUntraced(function* (transport: StreamableHTTPClientTransport) {
  const { livenessChecks, logged, lost, markLost, sendRequest } = yield* makeConnection(transport)
  const request = makeRequest(sendRequest)
  const described = request("server/discover", {})
  /** Returns the server's description. A server that refuses the revision although it supports it is asked again. */
  const discover = Effect.catchIf(
    described,
    ({ code, data }) =>
      code === jsonRpcCodes.unsupportedProtocolVersion && [data?.["supported"]].flat().includes(modernRevision),
    () => described
  )
  /** Any result is a sign that the server runs. */
  const ping = Effect.asVoid(sendRequest("server/discover", {}, () => undefined))
  yield* Queue.take(livenessChecks).pipe(
    Effect.andThen(ping),
    Effect.catch(({ reason, message }) =>
      Effect.sync(
        () => (reason === "unavailable" || reason === "closed") && markLost(`MCP server does not respond: ${message}`)
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )

  /** Subscribes to changes until the server closes the subscription or fails. Interruption unsubscribes. */
  const listen = (
    wanted: JsonObject,
    onAccepted: (honoured: JsonObject) => void,
    onChange: (change: McpChange) => void
  ) =>
    sendRequest("subscriptions/listen", { notifications: wanted }, (method, params) => {
      if (method === "notifications/subscriptions/acknowledged") return onAccepted(asObject(params["notifications"]))
      const change = decodeChange(method, params)
      if (change !== undefined) onChange(change)
    })

  return { discover, ping, request, listen, logged, lost, markLost }
})

export type ModernClient = Effect.Success<ReturnType<typeof makeModernClient>>
