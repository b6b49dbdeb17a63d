import { Config, Effect, Option, Redacted } from "effect"
import { readTokenFile } from "../../adapters/credentials/readTokenFile.ts"
import type { Token } from "../../adapters/socketio/client/SocketIoClient.ts"
import { type CommandFailed, toCommandFailed } from "./CommandFailed.ts"

/**
 * The token of a member, as an option of the layers: the contents of a file, read before every connection, else the
 * value of `A2C_TOKEN`. Empty without either.
 */
export const memberToken = Effect.fnUntraced(function* (
  file: string | undefined
): Effect.fn.Return<{ readonly token?: Token }, CommandFailed> {
  if (file !== undefined) return { token: readTokenFile(file) }
  const fromVariable = yield* Effect.mapError(Config.option(Config.Redacted("A2C_TOKEN")), toCommandFailed)
  return Option.isSome(fromVariable) ? { token: Redacted.value(fromVariable.value) } : {}
})
