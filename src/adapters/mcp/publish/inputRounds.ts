import { Effect, Fiber, FiberMap, Queue } from "effect"
import type { InputResponder, McpSessionError } from "../../../application/ports/McpSession.ts"
import { makeRequestId } from "../../../application/shared/tracing.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type JsonRpcError, jsonRpcError } from "./jsonRpcErrors.ts"
import { makeOpenQuestions, type OpenQuestions } from "./openQuestions.ts"
import type { SendProgress } from "./progressHeartbeat.ts"

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
  /** Signals a new question. */
  readonly asked: Queue.Queue<void>
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

  const end = (state: string) =>
    Effect.suspend(() => {
      calls.delete(state)
      return FiberMap.remove(fibers, state)
    })
  const expire = (state: string) => FiberMap.run(expiries, state, Effect.delay(end(state), answerTimeout))

  const open = Effect.fnUntraced(function* (state: string, start: StartCall, { modes, sendProgress }: InputRound) {
    const asked = yield* Queue.sliding<void>(1)
    const questions = makeOpenQuestions(Queue.offer(asked, undefined))
    const forwardProgress: SendProgress = (step) =>
      Effect.suspend(() => calls.get(state)?.sendProgress?.(step) ?? Effect.void)
    // Registered before it starts: its first steps may ask.
    const running = start({ modes, answer: questions.answer }, forwardProgress)
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
        inputRequests: questions.encode()
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
    // What this signalled is in the questions, and those without an answer are asked again.
    yield* Queue.clear(call.asked)
    call.questions.accept(round.responses)
    if (call.questions.size > 0) yield* Queue.offer(call.asked, undefined)
    return yield* awaitResponse(state, call)
  })
})
