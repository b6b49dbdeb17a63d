import { Config, Effect, Option, Redacted } from "effect"
import { readTokenFile } from "../../adapters/credentials/readTokenFile.ts"
import { parseAuthorities } from "../../adapters/socketio/client/nodeAgent.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { readTextFile } from "../config/documents.ts"
import { failCommand } from "../CommandFailed.ts"

/** The contents of `--tls-ca`, when it holds certificates. */
export const readAuthorities = (file: string) =>
  readTextFile(file).pipe(
    Effect.tap((text) => Effect.try({ try: () => parseAuthorities(text), catch: errorMessage })),
    Effect.catch((reason) => failCommand(`--tls-ca: ${file}: ${reason}`))
  )

/** The token: the contents of a file, read before every connection, else the value of `A2C_TOKEN`. */
const memberToken = Effect.fnUntraced(function* (file: string | undefined) {
  if (file !== undefined) return { token: readTokenFile(file) }
  const fromVariable = yield* Config.option(Config.Redacted("A2C_TOKEN"))
  return Option.isSome(fromVariable) ? { token: Redacted.value(fromVariable.value) } : {}
})

type ConnectionFlags = { readonly [F in "tlsCa" | "tokenFile"]?: string | undefined }

/** The options of the layers for the connection of a member, from its flags. */
export const memberConnection = Effect.fnUntraced(function* ({ tlsCa, tokenFile }: ConnectionFlags) {
  const authorities = tlsCa === undefined ? {} : { ca: yield* readAuthorities(tlsCa) }
  return { ...(yield* memberToken(tokenFile)), ...authorities }
})
