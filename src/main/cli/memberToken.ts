import { Config, Effect, Option, Redacted } from "effect"
import { readTokenFile } from "../../adapters/credentials/readTokenFile.ts"
import type { Token } from "../../adapters/socketio/client/SocketIoClient.ts"
import { type CommandFailed, toCommandFailed } from "./CommandFailed.ts"

/**
 * What a member shows its Server: what stands in a file, read before every connection, else `A2C_TOKEN`. Given as an
 * option of the layers, nothing when there is neither.
 */
export const memberToken = Effect.fnUntraced(function* (
  file: Option.Option<string>
): Effect.fn.Return<{ readonly token?: Token }, CommandFailed> {
  if (Option.isSome(file)) return { token: readTokenFile(file.value) }
  const fromVariable = yield* Effect.mapError(Config.option(Config.Redacted("A2C_TOKEN")), toCommandFailed)
  return Option.isSome(fromVariable) ? { token: Redacted.value(fromVariable.value) } : {}
})
