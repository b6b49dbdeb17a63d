import { Deferred, Effect, Exit, Fiber, FiberMap, Queue } from "effect"
import type { InputResponder, McpSessionError } from "../../../application/ports/McpSession.ts"
import { makeRequestId } from "../../../application/shared/tracing.ts"
import { asObject, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type JsonRpcError, jsonRpcError } from "./jsonRpcErrors.ts"
import type { SendProgress } from "./progressHeartbeat.ts"

/** How long a client may take to answer before its call is interrupted. An approval waits at most one hour. */
const answerTimeout = "1 hour"

/** Calls of all clients that wait for answers. */
const maxOpenCalls = 1024

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
  return [
    ...(form !== undefined || url === undefined ? (["form"] as const) : []),
    ...(url === undefined ? [] : (["url"] as const))
  ]
}

/** One request of a client in the modern era that may be repeated with answers. */
export interface InputRound {
  readonly modes: InputResponder["modes"]
  /** The state of the previous response; `undefined` at the first request. */
  readonly requestState: string | undefined
  readonly responses: JsonObject
  readonly sendProgress: SendProgress | undefined
}

interface Question {
  readonly request: InputRequest
  readonly answer: Deferred.Deferred<InputAnswer>
}

interface OpenCall {
  readonly fiber: Fiber.Fiber<JsonObject, McpSessionError>
  readonly asked: Queue.Queue<string>
  readonly questions: Map<string, Question>
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

  const end = (state: string) =>
    Effect.suspend(() => {
      calls.delete(state)
      return FiberMap.remove(fibers, state)
    })
  const expire = (state: string) => FiberMap.run(expiries, state, Effect.delay(end(state), answerTimeout))

  const open = Effect.fnUntraced(function* (state: string, start: StartCall, { modes, sendProgress }: InputRound) {
    const asked = yield* Queue.unbounded<string>()
    const questions: OpenCall["questions"] = new Map()
    let count = 0
    const answer = (request: InputRequest) =>
      Effect.suspend(() => {
        count++
        const id = `question_${count}`
        const question = { request, answer: Deferred.makeUnsafe<InputAnswer>() }
        questions.set(id, question)
        return Effect.andThen(Queue.offer(asked, id), Deferred.await(question.answer)).pipe(
          Effect.ensuring(Effect.sync(() => void questions.delete(id)))
        )
      })
    const forwardProgress: SendProgress = (step) => calls.get(state)?.sendProgress?.(step) ?? Effect.void
    // Registered before it starts: its first steps may ask.
    const running = start({ modes, answer }, forwardProgress)
    const fiber = yield* FiberMap.run(fibers, state, running, { startImmediately: false })
    const call: OpenCall = { fiber, asked, questions, sendProgress }
    calls.set(state, call)
    fiber.addObserver(() => void calls.delete(state))
    return call
  })

  /** Gives the result of a call, or its open questions. */
  const awaitResponse = (state: string, { asked, fiber, questions }: OpenCall) =>
    Effect.raceFirst(
      Fiber.join(fiber),
      Effect.map(Queue.take(asked), () => ({
        resultType: "input_required",
        requestState: state,
        inputRequests: Object.fromEntries(
          [...questions].map(([id, { request }]) => [
            id,
            { method: "elicitation/create", params: encodeInputRequest(request) }
          ])
        )
      }))
    ).pipe(
      Effect.tap((response) => ("requestState" in response ? expire(state) : Effect.void)),
      Effect.onInterrupt(() => end(state))
    )

  return Effect.fnUntraced(function* (
    start: StartCall,
    round: InputRound
  ): Effect.fn.Return<JsonObject, McpSessionError | JsonRpcError> {
    if (round.requestState === undefined) {
      if (calls.size >= maxOpenCalls) return yield* jsonRpcError("internalError", "Too many calls in progress")
      const state = yield* makeRequestId
      return yield* awaitResponse(state, yield* open(state, start, round))
    }
    const { requestState: state } = round
    const call = calls.get(state)
    if (call === undefined) return yield* jsonRpcError("invalidParams", "requestState: unknown, or it has expired")
    yield* FiberMap.remove(expiries, state)
    call.sendProgress = round.sendProgress
    for (const [id, { answer }] of call.questions) {
      const decoded = Object.hasOwn(round.responses, id) ? decodeInputAnswer(round.responses[id]) : undefined
      // A question without an answer is asked again.
      if (decoded === undefined) yield* Queue.offer(call.asked, id)
      else Deferred.doneUnsafe(answer, Exit.succeed(decoded))
    }
    return yield* awaitResponse(state, call)
  })
})
