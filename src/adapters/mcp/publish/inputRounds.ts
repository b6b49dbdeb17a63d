import { Deferred, Effect, Exit, Fiber, FiberMap, Latch } from "effect"
import type { InputResponder, McpSessionError } from "../../../application/ports/McpSession.ts"
import { makeRequestId } from "../../../application/shared/tracing.ts"
import { asObject, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { jsonRpcError } from "./jsonRpcErrors.ts"
import type { SendProgress } from "./progressHeartbeat.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import { definedOnly } from "../../../domain/objects.ts"

/** The parameters of `elicitation/create`. */
export const encodeInputRequest = (request: InputRequest): JsonObject =>
  request.mode === "url" ? { ...request } : { message: request.message, requestedSchema: request.schema }

/** Decodes the answer of a client; `undefined` for a malformed one. */
export const decodeInputAnswer = (value: unknown): InputAnswer | undefined => {
  const { action, content } = asObject(value)
  if (action === "decline" || action === "cancel") return { action }
  return action === "accept"
    ? { action, ...definedOnly({ content: isJsonObject(content) ? content : undefined }) }
    : undefined
}

/** The kinds of questions in a client's capabilities: an empty object means forms. */
export const inputModesOf = (capabilities: unknown): InputResponder["modes"] => {
  const { elicitation } = asObject(capabilities)
  if (!isJsonObject(elicitation)) return []
  const { form, url } = elicitation
  if (url === undefined) return ["form"]
  return form === undefined ? ["url"] : ["form", "url"]
}

/** The questions of one call that wait for a client's next request. */
export type OpenQuestions = ReturnType<typeof makeOpenQuestions>

export const makeOpenQuestions = () => {
  const open = new Map<string, { readonly request: InputRequest; readonly answer: Deferred.Deferred<InputAnswer> }>()
  const asked = Latch.makeUnsafe()
  let count = 0
  const remove = (id: string): void => {
    open.delete(id)
    if (open.size === 0) asked.closeUnsafe()
  }
  return {
    get size() {
      return open.size
    },
    /** The number of questions that were ever open. */
    get count() {
      return count
    },
    /** Waits until a question is open, and for others that are asked at the same time. */
    asked: Effect.andThen(asked.await, Effect.yieldNow),
    answer: (request: InputRequest): Effect.Effect<InputAnswer> =>
      Effect.suspend(() => {
        const id = `question_${++count}`
        const answer = Deferred.makeUnsafe<InputAnswer>()
        open.set(id, { request, answer })
        asked.openUnsafe()
        return Effect.ensuring(
          Deferred.await(answer),
          Effect.sync(() => remove(id))
        )
      }),
    /** Takes the answers by id of MCP 2026-07-28; a question without a well-formed answer stays open. */
    accept: (responses: JsonObject): void => {
      for (const [id, { answer }] of open) {
        const decoded = Object.hasOwn(responses, id) ? decodeInputAnswer(responses[id]) : undefined
        if (decoded === undefined) continue
        remove(id)
        Deferred.doneUnsafe(answer, Exit.succeed(decoded))
      }
    },
    /** Asks each question with `responder`, one after another. */
    askAll: (responder: InputResponder) =>
      Effect.gen(function* () {
        for (const [id, { answer, request }] of open) {
          const answered = yield* responder.answer(request)
          remove(id)
          Deferred.doneUnsafe(answer, Exit.succeed(answered))
        }
      }),
    /** The `inputRequests` of MCP 2026-07-28. */
    encode: (): JsonObject =>
      Object.fromEntries(
        [...open].map(([id, { request }]) => [
          id,
          { method: "elicitation/create", params: encodeInputRequest(request) }
        ])
      )
  }
}

/** How long a client may take to answer before its call is interrupted. An approval waits at most one hour. */
const answerTimeout = "1 hour"

/** Calls of all clients that wait for answers. */
const maxOpenCalls = 1024

/** One request of a client in the modern era that may be repeated with answers. */
export interface InputRound {
  readonly modes: InputResponder["modes"]
  /** The state of the previous response; `undefined` at the first request. */
  readonly requestState: string | undefined
  readonly responses: JsonObject
  readonly sendProgress: SendProgress | undefined
}

interface OpenCall {
  readonly fiber: Fiber.Fiber<JsonObject, McpSessionError>
  readonly questions: OpenQuestions
  /** The progress goes to the request that the client waits for. */
  sendProgress: SendProgress | undefined
}

/** A call that runs across requests: its responder, and where its progress goes. */
type StartCall = (responder: InputResponder, sendProgress: SendProgress) => Effect.Effect<JsonObject, McpSessionError>

/**
 * Runs calls whose questions are answered as MCP 2026-07-28 has it: the response is the questions, and the client repeats
 * the request with the answers. The call itself runs once. Calls end with the scope.
 */
export const makeInputRounds = Effect.gen(function* () {
  const fibers = yield* FiberMap.make<string, JsonObject, McpSessionError>()
  const expiries = yield* FiberMap.make<string>()
  const calls = new Map<string, OpenCall>()

  const end = (id: string) =>
    Effect.suspend(() => {
      calls.delete(id)
      return FiberMap.remove(fibers, id)
    })
  const expire = (id: string) => FiberMap.run(expiries, id, Effect.delay(end(id), answerTimeout))

  const open = Effect.fnUntraced(function* (id: string, start: StartCall, { modes, sendProgress }: InputRound) {
    const questions = makeOpenQuestions()
    const forwardProgress: SendProgress = (step) =>
      Effect.suspend(() => calls.get(id)?.sendProgress?.(step) ?? Effect.void)
    // Registered before it starts: its first steps may ask.
    const running = start({ modes, answer: questions.answer }, forwardProgress)
    const fiber = yield* FiberMap.run(fibers, id, running, { startImmediately: false })
    const call: OpenCall = { fiber, questions, sendProgress }
    calls.set(id, call)
    fiber.addObserver(() => void calls.delete(id))
    return call
  })

  /** Gives the result of a call, or its open questions. */
  const awaitResponse = (id: string, { fiber, questions }: OpenCall) => {
    const asked = Effect.map(Effect.andThen(questions.asked, expire(id)), () => ({
      resultType: "input_required",
      requestState: `${id}.${questions.count}`,
      inputRequests: questions.encode()
    }))
    return Effect.onInterrupt(Effect.raceFirst(Fiber.join(fiber), asked), () => end(id))
  }

  return Effect.fnUntraced(function* (start: StartCall, round: InputRound) {
    if (round.requestState === undefined) {
      if (calls.size >= maxOpenCalls) return yield* jsonRpcError("internalError", "Too many calls in progress")
      const id = yield* makeRequestId
      return yield* awaitResponse(id, yield* open(id, start, round))
    }
    // An earlier state of the call stays valid: a client repeats a request whose response was lost.
    const [, id = "", count = ""] = /^(.*)\.([1-9]\d*)$/.exec(round.requestState) ?? []
    const call = calls.get(id)
    if (call === undefined || Number(count) > call.questions.count)
      return yield* jsonRpcError("invalidParams", "requestState: unknown, or it has expired")
    yield* FiberMap.remove(expiries, id)
    call.sendProgress = round.sendProgress
    // Questions without an answer are asked again.
    call.questions.accept(round.responses)
    return yield* awaitResponse(id, call)
  })
})
