import { Context, Data, type Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"

/**
 * A script could not be checked or run. The message is for the Computer's owner: it may quote the script and what the
 * script worked on.
 *
 * - `missing`: no engine is installed; the message says how to get one
 * - `failed`: the script failed, its event is too large, or the engine broke down under it
 * - `too long`: it took longer than it may
 */
export class VrlError extends Data.TaggedError("VrlError")<{
  readonly reason: "missing" | "failed" | "too long"
  readonly message: string
}> {}

/**
 * Runs Vector Remap Language scripts over the results of tools (spec §6.7). Scripts share nothing: a failure of one
 * leaves no trace in the next.
 */
export class VrlEngine extends Context.Service<
  VrlEngine,
  {
    /**
     * What is wrong with a script, one fault per line with its line and column; `undefined` when it compiles. For
     * loading a configuration.
     */
    readonly check: (script: string) => Effect.Effect<string | undefined, VrlError>
    /** The event as the script leaves it: JSON, and not always an object, since a script may replace it all. */
    readonly run: (script: string, event: JsonObject) => Effect.Effect<unknown, VrlError>
  }
>()("a2c-smcp/application/ports/VrlEngine") {}
