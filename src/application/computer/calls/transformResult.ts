import { Effect } from "effect"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { addTransformedEvent, type VrlCall, toVrlEvent } from "../../../domain/tools/vrl.ts"
import type { VrlEngine } from "../../ports/VrlEngine.ts"

/**
 * A tool's result with the event added that the server's script makes of it (spec §6.7). A script that cannot be run
 * costs a warning and never the result.
 */
export const transformResult = (
  engine: VrlEngine["Service"],
  script: string,
  result: ToolResult,
  call: VrlCall
): Effect.Effect<ToolResult> =>
  Effect.matchEffect(engine.run(script, toVrlEvent(result, call)), {
    onSuccess: (event) => Effect.succeed(addTransformedEvent(result, event)),
    onFailure: ({ message, reason }) =>
      Effect.as(
        Effect.logWarning("result not transformed", { tool: call.tool, why: reason, reason: message }),
        result
      )
  })
