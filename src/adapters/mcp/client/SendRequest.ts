import { Effect } from "effect"
import type { InputResponder, McpSessionError } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"

/** Receives what happens during a request. */
export interface RequestHandlers {
  /** Receives the parameters of progress notifications. */
  readonly onProgress?: ((params: JsonObject) => void) | undefined
  readonly responder?: InputResponder | undefined
}

/** Waits for a last request up to one second and ignores its failure. */
export const attemptBriefly = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<void> =>
  request.pipe(Effect.interruptible, Effect.timeoutOption("1 second"), Effect.ignore)

/** Sends a request and returns the result as it is. Interruption cancels the request. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  handlers?: RequestHandlers
) => Effect.Effect<JsonObject, McpSessionError>
