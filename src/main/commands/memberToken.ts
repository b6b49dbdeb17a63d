import { Config, Effect, Option, Redacted } from "effect"
import { tokenFile } from "../../adapters/node/tokenFile.ts"
import type { Token } from "../../adapters/socketio/SocketIoClient.ts"
import { type CommandFailed, failed } from "../failure.ts"

/**
 * What a member shows its Server: what stands in a file, read before every connection, else `A2C_TOKEN`. Given as an
 * option of the layers, nothing when there is neither.
 */
export const memberToken = Effect.fnUntraced(function* (
  file: Option.Option<string>
): Effect.fn.Return<{ readonly token?: Token }, CommandFailed> {
  if (Option.isSome(file)) return { token: tokenFile(file.value) }
  const set = yield* Effect.mapError(Config.option(Config.Redacted("A2C_TOKEN")), failed)
  return Option.isSome(set) ? { token: Redacted.value(set.value) } : {}
})
