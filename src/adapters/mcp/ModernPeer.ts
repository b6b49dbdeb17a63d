import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  SdkHttpError,
  type StreamableHTTPClientTransport,
  SUBSCRIPTION_ID_META_KEY
} from "@modelcontextprotocol/client"
import { Deferred, Effect, Exit, Queue, Result, type Scope } from "effect"
import { type McpChange, McpFailure } from "../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { version } from "../../version.ts"
import { unanswered, wasCut } from "./HttpFetch.ts"
import { httpFailure, readChange, readProgress } from "./reading.ts"
import type { Ask } from "./verbs.ts"

/** The revision of MCP that is spoken here: the first without sessions. */
export const revision = "2026-07-28"

/** How often a server may put off an answer, and how long we wait before we ask again. */
const postponement = { rounds: 10, pause: "250 millis" } as const

/** What every request says of us. Nothing is offered that a server could ask for. */
const envelope = {
  [PROTOCOL_VERSION_META_KEY]: revision,
  [CLIENT_INFO_META_KEY]: { name: "a2c-smcp", version },
  [CLIENT_CAPABILITIES_META_KEY]: {}
}

const wrong = (message: string) => new McpFailure({ kind: "protocol", message })

const closed = (message: string) => new McpFailure({ kind: "closed", message })

const ofHttp = (error: SdkHttpError): McpFailure => {
  const { text } = error.data
  return httpFailure(error.status, typeof text === "string" ? text : "")
}

const toFailure = (error: unknown): McpFailure => {
  if (error instanceof SdkHttpError) return ofHttp(error)
  if (wasCut(error)) return closed("no answer came: the connection was cut")
  return new McpFailure({
    kind: "unavailable",
    message: error instanceof Error ? error.message : String(error)
  })
}

/** What came in answer to a request. */
type Answer = Exclude<JSONRPCMessage, { readonly method: string }>

const readAnswer = (answer: Answer): Result.Result<JsonObject, McpFailure> => {
  if ("result" in answer) return Result.succeed(answer.result)
  const { code, message } = answer.error
  return Result.fail(unanswered(answer.error, message) ?? new McpFailure({ kind: "protocol", code, message }))
}

/** Hears the notifications that belong to a request. */
type Hear = (method: string, params: JsonObject) => void

/** Asks a server that keeps no sessions. */
export interface ModernPeer {
  /** What the server says of itself; also its sign of life. */
  readonly discover: Effect.Effect<JsonObject, McpFailure>
  /** Gives the result as it came, without the mark that it is complete. Interrupting it ends the work at the peer. */
  readonly request: Ask
  /** Hears of changes until the server ends that, or fails. Interrupting it ends it here. */
  readonly listen: (
    wanted: JsonObject,
    hear: {
      /** The server tells from now on, and only what it says here. */
      readonly accepted: (honoured: JsonObject) => void
      readonly changed: (change: McpChange) => void
    }
  ) => Effect.Effect<void, McpFailure>
  /** Done when the peer is given up; all requests then fail with it, also later ones. */
  readonly lost: Deferred.Deferred<McpFailure>
  /** Gives the peer up. */
  readonly lose: (reason: string) => void
}

/**
 * Speaks the stateless revision of MCP over a transport of the v2 SDK, which closes with the scope. The SDK's client is
 * not used: it checks results against closed schemas even when it is given others, so that one unknown block of content
 * costs the whole result and one odd tool the whole listing; and it does not notice that an answer cannot come.
 */
export const makeModernPeer = Effect.fnUntraced(function* (
  transport: StreamableHTTPClientTransport
): Effect.fn.Return<ModernPeer, never, Scope.Scope> {
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const lost = yield* Deferred.make<McpFailure>()
  const open = new Map<
    string | number,
    { readonly settle: (answer: Result.Result<JsonObject, McpFailure>) => void; readonly hear: Hear }
  >()
  /** Answers that were cut: each is a reason to look whether the server still lives. */
  const doubts = yield* Queue.sliding<void>(1)
  let count = 0

  const lose = (reason: string): void => {
    const failure = closed(reason)
    if (!Deferred.doneUnsafe(lost, Exit.succeed(failure))) return
    for (const { settle } of open.values()) settle(Result.fail(failure))
  }

  const settle = (id: string | number | undefined, answer: Result.Result<JsonObject, McpFailure>): void => {
    const asked = id === undefined ? undefined : open.get(id)
    if (asked === undefined) return
    asked.settle(answer)
    if (Result.isFailure(answer) && answer.failure.kind === "closed") Queue.offerUnsafe(doubts, undefined)
  }

  transport.onmessage = (message: JSONRPCMessage) => {
    if (!("method" in message)) return settle(message.id, readAnswer(message))
    // Whom it concerns: a call by its progress token, a subscription by its id.
    const { params = {} } = message
    const meta = isJsonObject(params._meta) ? params._meta : {}
    const id = params["progressToken"] ?? meta[SUBSCRIPTION_ID_META_KEY]
    if (typeof id === "string" || typeof id === "number") open.get(id)?.hear(message.method, params)
  }
  transport.onerror = (error) => run(Effect.logDebug("MCP transport", { reason: error.message }))
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Effect.sync(() => lose("the session was closed")),
      Effect.ignore(Effect.tryPromise(() => transport.close()))
    )
  )
  yield* Effect.promise(() => transport.start())

  const exchange = (
    method: string,
    params: JsonObject,
    { hear, progress = false }: { readonly hear: Hear; readonly progress?: boolean }
  ): Effect.Effect<JsonObject, McpFailure> =>
    Effect.callback((resume, signal) => {
      if (Deferred.isDoneUnsafe(lost)) {
        return resume(Effect.flatMap(Deferred.await(lost), Effect.fail))
      }
      count += 1
      const id = `${method}#${count}`
      const forget = (): void => void open.delete(id)
      open.set(id, {
        hear,
        settle: (answer) => {
          forget()
          resume(Effect.fromResult(answer))
        }
      })
      const { _meta: given } = params
      const _meta = {
        ...(isJsonObject(given) && given),
        ...envelope,
        ...(progress && { progressToken: id })
      }
      transport
        .send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }, { requestSignal: signal })
        .catch((error: unknown) => settle(id, Result.fail(toFailure(error))))
      return Effect.sync(forget)
    })

  const request: ModernPeer["request"] = Effect.fnUntraced(function* (method, params, onProgress) {
    const hear: Hear = (told, what) => {
      const step = told === "notifications/progress" ? readProgress(what) : undefined
      if (step !== undefined) onProgress?.(step)
    }
    let state: JsonObject = {}
    for (let round = 0; round < postponement.rounds; round++) {
      const answer = yield* exchange(
        method,
        { ...params, ...state },
        { hear, progress: onProgress !== undefined }
      )
      const { resultType = "complete", ...result } = answer
      if (resultType === "complete") return result
      const { inputRequests, requestState } = result
      if (resultType !== "input_required") return yield* wrong("the answer is no MCP result")
      if (inputRequests !== undefined || requestState === undefined) {
        return yield* wrong("the MCP server asks for input, and nobody here can give any")
      }
      state = { requestState }
      yield* Effect.sleep(postponement.pause)
    }
    return yield* wrong("the MCP server puts off its answer again and again")
  })

  const listen: ModernPeer["listen"] = (wanted, { accepted, changed }) => {
    const hear: Hear = (method, params) => {
      if (method === "notifications/subscriptions/acknowledged") {
        const { notifications } = params
        return accepted(isJsonObject(notifications) ? notifications : {})
      }
      const change = readChange(method, params)
      if (change !== undefined) changed(change)
    }
    return Effect.asVoid(exchange("subscriptions/listen", { notifications: wanted }, { hear }))
  }

  const discover = request("server/discover", {})
  yield* Queue.take(doubts).pipe(
    Effect.andThen(discover),
    Effect.catch(({ kind, message }) =>
      Effect.sync(
        () => (kind === "unavailable" || kind === "closed") && lose(`the MCP server is gone: ${message}`)
      )
    ),
    Effect.forever,
    Effect.forkScoped
  )

  return { discover, request, listen, lost, lose }
})
