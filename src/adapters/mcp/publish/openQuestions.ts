import { Deferred, Effect, Exit } from "effect"
import type { InputResponder } from "../../../application/ports/McpSession.ts"
import { asObject, isJsonObject, type JsonObject } from "../../../domain/json.ts"
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
  return [
    ...(form !== undefined || url === undefined ? (["form"] as const) : []),
    ...(url === undefined ? [] : (["url"] as const))
  ]
}

/** The questions of one call that wait for a client's next request. */
export type OpenQuestions = ReturnType<typeof makeOpenQuestions>

/** `onAsked` runs once a question is open. */
export const makeOpenQuestions = (onAsked: Effect.Effect<unknown>) => {
  const open = new Map<string, { readonly request: InputRequest; readonly answer: Deferred.Deferred<InputAnswer> }>()
  let count = 0
  return {
    get size() {
      return open.size
    },
    /** Waits for the answer to a question. */
    answer: (request: InputRequest): Effect.Effect<InputAnswer> =>
      Effect.suspend(() => {
        count++
        const id = `question_${count}`
        const answer = Deferred.makeUnsafe<InputAnswer>()
        open.set(id, { request, answer })
        return Effect.andThen(onAsked, Deferred.await(answer)).pipe(
          Effect.ensuring(Effect.sync(() => void open.delete(id)))
        )
      }),
    /** Takes the answers by id of MCP 2026-07-28; a question without a well-formed answer stays open. */
    accept: (responses: JsonObject): void => {
      for (const [id, { answer }] of open) {
        const decoded = Object.hasOwn(responses, id) ? decodeInputAnswer(responses[id]) : undefined
        if (decoded === undefined) continue
        open.delete(id)
        Deferred.doneUnsafe(answer, Exit.succeed(decoded))
      }
    },
    /** Asks each question with `responder`, one after another. */
    askAll: (responder: InputResponder) =>
      Effect.gen(function* () {
        for (const [id, { answer, request }] of open) {
          const answered = yield* responder.answer(request)
          open.delete(id)
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
