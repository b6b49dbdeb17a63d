import { Effect } from "effect"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { addTransformedEvent, toVrlEvent, type VrlCall } from "../../../domain/tools/vrl.ts"
import type { VrlEngine } from "../../ports/VrlEngine.ts"

/** Adds the event that the server's VRL script makes of a result (spec §6.7). A failed script is only logged. */
export const transformResult = (
  engine: VrlEngine["Service"],
  script: string,
  result: ToolResult,
  call: VrlCall
): Effect.Effect<ToolResult> =>
  Effect.matchEffect(engine.run(script, toVrlEvent(result, call)), {
    onSuccess: (event) => Effect.succeed(addTransformedEvent(result, event)),
    onFailure: ({ message, reason }) =>
      Effect.as(Effect.logWarning("VRL transform failed", { tool: call.tool, reason, message }), result)
  })
