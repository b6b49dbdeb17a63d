import { Cause, Effect } from "effect"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import { errorCodes, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { InputResponder } from "../../ports/McpSession.ts"

/** Asks the responder of a call. A question that it cannot answer is declined. */
export const askResponder = (
  responder: InputResponder | undefined,
  request: InputRequest
): Effect.Effect<InputAnswer> =>
  responder?.modes.includes(request.mode) === true ? responder.answer(request) : Effect.succeed({ action: "decline" })

/** Gives the answer of a program, or another one when the program fails, which `log` writes. */
export const answerOr = <A, B>(
  asking: Effect.Effect<A, unknown>,
  fallback: B,
  log: (cause: Cause.Cause<unknown>) => Effect.Effect<void>
): Effect.Effect<A | B> =>
  Effect.catchCause(asking, (cause) =>
    Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.as(log(cause), fallback)
  )

/** A program that answers wrongly must not be asked forever. */
const maxAttempts = 3

/**
 * Asks a responder until its answer is accepted: after an invalid one again, with the error at the start of the message.
 * Then the question is declined. Fails when the question is not open any more.
 */
export const askUntilValid = Effect.fnUntraced(function* <
  A extends InputAnswer,
  E extends { readonly message: string }
>(
  request: InputRequest,
  ask: (request: InputRequest) => Effect.Effect<A>,
  submit: (answer: A | { readonly action: "decline" }) => Effect.Effect<unknown, E>
): Effect.fn.Return<void, E> {
  let asked = request
  for (let left = maxAttempts; left > 0; left--) {
    const error = yield* Effect.match(submit(yield* ask(asked)), {
      onSuccess: () => undefined,
      onFailure: (failure) => failure
    })
    if (error === undefined) return
    // An answer that does not fit leaves its question open.
    const isInvalid = error instanceof ProtocolError && error.code === errorCodes.badRequest
    if (!isInvalid) return yield* Effect.fail(error)
    asked = { ...request, message: `${error.message}\n\n${request.message}` }
  }
  yield* submit({ action: "decline" })
})
