import { Data, Effect, type Result } from "effect"
import type { ProtocolError } from "../../domain/model/ProtocolError.ts"

/** The member is not connected. The effect of a request in flight is unknown. */
export class Disconnected extends Data.TaggedError("Disconnected")<{ readonly message: string }> {}

/** The Server did not reply in time. */
export class ServerTimeout extends Data.TaggedError("ServerTimeout")<{ readonly message: string }> {}

/** The reply violates the protocol. */
export class BadReply extends Data.TaggedError("BadReply")<{ readonly message: string }> {}

/** Why a request failed. A {@link ProtocolError} comes from the peer, the other errors from this side. */
export type AgentError = ProtocolError | Disconnected | ServerTimeout | BadReply

/** Fails with {@link BadReply} for a reply that does not decode. */
export const checkReply = <A>(decoded: Result.Result<A, string>): Effect.Effect<A, BadReply> =>
  Effect.mapError(Effect.fromResult(decoded), (message) => new BadReply({ message }))
