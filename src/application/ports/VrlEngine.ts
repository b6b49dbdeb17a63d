import { Context, Data, type Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"

/**
 * A script could not be checked or run. The message is for the Computer's owner: it may quote the script and its input.
 *
 * - `missing`: no engine is installed; the message says how to get one
 * - `failed`: the script failed, its event is too large, or the engine crashed
 * - `timeout`: the script exceeded its time limit
 */
export class VrlError extends Data.TaggedError("VrlError")<{
  readonly reason: "missing" | "failed" | "timeout"
  readonly message: string
}> {}

/** Runs Vector Remap Language scripts over tool results (spec §6.7). Scripts share no state. */
export class VrlEngine extends Context.Service<
  VrlEngine,
  {
    /** The compile errors of a script, one per line with line and column; `undefined` when it compiles. */
    readonly check: (script: string) => Effect.Effect<string | undefined, VrlError>
    /** Runs a script and gives the event that it leaves: any JSON value, because a script may replace the event. */
    readonly run: (script: string, event: JsonObject) => Effect.Effect<unknown, VrlError>
  }
>()("a2c-smcp/application/ports/VrlEngine") {}
