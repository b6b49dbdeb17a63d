import {
  type OAuthClientInformationMixed,
  OAuthClientInformationFullSchema,
  OAuthClientInformationSchema,
  type OAuthTokens,
  OAuthTokensSchema
} from "@modelcontextprotocol/sdk/shared/auth.js"
import { Effect, Option, Redacted } from "effect"
import { z } from "zod"
import type { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import { parseJson } from "../../../domain/json.ts"
import { sessionError } from "../sessionError.ts"

export interface OAuthCredentials {
  readonly client: OAuthClientInformationMixed | undefined
  readonly tokens: OAuthTokens | undefined
}

export const noCredentials: OAuthCredentials = { client: undefined, tokens: undefined }

const StoredCredentials = z.object({
  url: z.string(),
  client: z.union([OAuthClientInformationFullSchema, OAuthClientInformationSchema]).optional(),
  tokens: OAuthTokensSchema.optional()
})

const decodeCredentials = (text: string, url: string): Option.Option<OAuthCredentials> =>
  Option.map(
    Option.fromUndefinedOr(StoredCredentials.safeParse(parseJson(text)).data),
    ({ client, tokens, url: owner }) => (owner === url ? { client, tokens } : noCredentials)
  )

/** Bound to name and URL: a changed URL must not receive tokens of the former. Both members fail with `unavailable`. */
export const makeOAuthCredentialStore = (store: CredentialStore["Service"], server: string, { href: url }: URL) => {
  const toUnavailable = ({ message }: { readonly message: string }) => sessionError("unavailable", message)
  const unreadable = `stored credentials of "${server}" are invalid: remove them to authorize again`
  return {
    read: Effect.flatMap(
      Effect.mapError(store.read(server), toUnavailable),
      Option.match({
        onNone: () => Effect.succeed(noCredentials),
        onSome: (stored) =>
          Effect.mapError(Effect.fromOption(decodeCredentials(Redacted.value(stored), url)), () =>
            sessionError("unavailable", unreadable)
          )
      })
    ),
    write: ({ client, tokens }: OAuthCredentials) =>
      Effect.mapError(
        client === undefined && tokens === undefined
          ? store.remove(server)
          : store.write(server, Redacted.make(JSON.stringify({ url, client, tokens }))),
        toUnavailable
      )
  }
}

export type OAuthCredentialStore = ReturnType<typeof makeOAuthCredentialStore>
