import { Effect, Option } from "effect"
import * as AjvValidator from "../../../adapters/ajv/AjvValidator.ts"
import { makeAnswerPrompt } from "../../../adapters/terminal/answerPrompt.ts"
import * as Dialogue from "../../../adapters/terminal/Dialogue.ts"
import { makeParamsCheck } from "../../../application/shared/paramsCheck.ts"

/** Makes the function that asks questions of MCP servers at the terminal; `undefined` without a terminal. */
export const makeOnInput = Effect.gen(function* () {
  const terminal = yield* Dialogue.processTerminal
  if (Option.isNone(terminal)) return undefined
  const check = yield* Effect.provide(makeParamsCheck, AjvValidator.layer)
  return makeAnswerPrompt(yield* Dialogue.make(terminal.value), check)
})
