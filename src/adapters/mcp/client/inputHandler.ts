import { ErrorCode, McpError } from "@modelcontextprotocol/sdk/types.js"
import { Deferred, Effect, Exit, FiberSet, Result } from "effect"
import { type InputResponder, sessionError } from "../../../application/ports/McpSession.ts"
import { askResponder } from "../../../application/shared/questions/askUntilValid.ts"
import { asObject, type JsonObject } from "../../../domain/json.ts"
import { type InputAnswer, parseInputRequest } from "../../../domain/model/InputRequest.ts"

/** Questions of one response; a server can ask again. */
const maxQuestions = 16

/**
 * Answers the questions that a server of the modern era sends instead of a result, one after the other. Fails for a
 * question of a kind that this client does not announce.
 */
export const answerInputs = (questions: JsonObject, responder: InputResponder | undefined) =>
  Effect.gen(function* () {
    const answers: Array<readonly [string, JsonObject]> = []
    for (const [id, value] of Object.entries(questions).slice(0, maxQuestions)) {
      const { method, params } = asObject(value)
      if (method !== "elicitation/create") {
        return yield* sessionError("protocol", "MCP server requested input of a kind that this client does not support")
      }
      const question = parseInputRequest(asObject(params))
      if (Result.isFailure(question)) {
        return yield* sessionError("protocol", `MCP server asked a malformed question: ${question.failure}`)
      }
      answers.push([id, { ...(yield* askResponder(responder, question.success)) }])
    }
    return Object.fromEntries(answers)
  })

/**
 * Answers the questions of an MCP server of the legacy era, which do not name their call: the call that started last
 * answers. A question without a running call is declined.
 */
export const makeInputHandler = Effect.gen(function* () {
  const run = yield* FiberSet.makeRuntimePromise()
  const calls = new Set<{ readonly responder: InputResponder; readonly ended: Deferred.Deferred<InputAnswer> }>()

  return {
    /** Lets a call answer while it runs. Its end cancels the question. */
    during: <A, E>(responder: InputResponder, running: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.suspend(() => {
        const call = { responder, ended: Deferred.makeUnsafe<InputAnswer>() }
        calls.add(call)
        return Effect.ensuring(
          running,
          Effect.sync(() => {
            calls.delete(call)
            Deferred.doneUnsafe(call.ended, Exit.succeed({ action: "cancel" }))
          })
        )
      }),
    handle: async (
      { method, params }: { readonly method: string; readonly params?: unknown },
      { signal }: { readonly signal: AbortSignal }
    ): Promise<JsonObject> => {
      if (method !== "elicitation/create") throw new McpError(ErrorCode.MethodNotFound, `Method not found: ${method}`)
      const question = parseInputRequest(asObject(params))
      if (Result.isFailure(question)) throw new McpError(ErrorCode.InvalidParams, question.failure)
      const call = [...calls].at(-1)
      if (call === undefined) return { action: "decline" }
      const answered = Effect.raceFirst(askResponder(call.responder, question.success), Deferred.await(call.ended))
      return { ...(await run(answered, { signal })) }
    }
  }
})
