import { Config, Effect, Option, Redacted } from "effect"
import { readTokenFile } from "../../adapters/credentials/readTokenFile.ts"
import type { Token } from "../../adapters/socketio/client/SocketIoClient.ts"

/**
 * The token of a member, as an option of the layers: the contents of a file, read before every connection, else the
 * value of `A2C_TOKEN`. Empty without either.
 */
export const memberToken = Effect.fnUntraced(function* (
  file: string | undefined
): Effect.fn.Return<{ readonly token?: Token }, Config.ConfigError> {
  if (file !== undefined) return { token: readTokenFile(file) }
  const fromVariable = yield* Config.option(Config.Redacted("A2C_TOKEN"))
  return Option.isSome(fromVariable) ? { token: Redacted.value(fromVariable.value) } : {}
})
