import { type Context, Effect, Result } from "effect"
import type { McpCallOptions, McpProgress } from "../../application/ports/McpSession.ts"
import type { JsonObject } from "../../domain/json.ts"
import { type InputAnswer, parseInputRequest } from "../../domain/model/InputRequest.ts"
import type { ToolContext, ToolQuestion } from "../packs/author/BaseMcpTool.ts"
import { type EnterPackCode, runPackCode } from "./runPackCode.ts"
import { withProgress } from "./withProgress.ts"
import { toCallToolResult } from "./toolResults.ts"

const toProgress = ({ message, progress, total }: McpProgress): McpProgress => ({
  progress,
  ...(Number.isFinite(total) && { total }),
  ...(typeof message === "string" && { message })
})

/** Asks the user of a call. An invalid question is a defect of its tool. */
const askResponder = (responder: McpCallOptions["responder"], question: ToolQuestion): Effect.Effect<InputAnswer> =>
  Effect.suspend(() => {
    const mode = "url" in question ? "url" : "form"
    const parsed = parseInputRequest({ ...question, mode, requestedSchema: "schema" in question && question.schema })
    if (Result.isFailure(parsed)) return Effect.die(new TypeError(`ask: ${parsed.failure}`))
    return responder?.modes.includes(mode) === true
      ? responder.answer(parsed.success)
      : Effect.succeed({ action: "decline" })
  })

/** What the host gives to a tool for a call. */
interface ToolHost extends Pick<ToolContext, "config" | "logger">, McpCallOptions {
  readonly enter: EnterPackCode
}

/**
 * Runs a tool and gives its MCP result. Interruption aborts the signal of the tool, and its open questions. `toError` maps
 * what the tool throws, and a result that is not JSON.
 */
export const runTool = <E>(
  run: (context: ToolContext) => unknown,
  { onProgress = () => Effect.void, ...host }: ToolHost,
  toError: (thrown: unknown) => E
): Effect.Effect<JsonObject, E> =>
  withProgress(onProgress, (report) =>
    Effect.contextWith((services: Context.Context<never>) => {
      const { config, enter, logger, requester, responder } = host
      const controller = new AbortController()
      const { signal } = controller
      const ask = (question: ToolQuestion) =>
        Effect.runPromiseWith(services)(askResponder(responder, question), { signal })
      const progress = (step: McpProgress) => {
        if (Number.isFinite(step.progress)) report(toProgress(step))
      }
      return runPackCode(enter, () => run({ signal, logger, progress, ask, requester, config })).pipe(
        Effect.onInterrupt(() => Effect.sync(() => enter(() => controller.abort()))),
        Effect.mapError(({ value }) => toError(value))
      )
    })
  ).pipe(
    Effect.flatMap((value) =>
      Effect.mapError(toCallToolResult(value), (reason) => toError(new TypeError(`the result is not JSON: ${reason}`)))
    )
  )
