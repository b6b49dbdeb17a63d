import { Context, Data, type Effect, type Option, type Redacted } from "effect"

/** Credentials cannot be kept or read. The message names the place, never a credential. */
export class CredentialsUnavailable extends Data.TaggedError("CredentialsUnavailable")<{
  readonly message: string
}> {}

/**
 * Keeps what authorization has brought, by the name of the MCP server: one text per server, which only the Computer's
 * owner can read. Never part of a configuration.
 */
export class CredentialStore extends Context.Service<
  CredentialStore,
  {
    readonly read: (
      server: string
    ) => Effect.Effect<Option.Option<Redacted.Redacted<string>>, CredentialsUnavailable>
    readonly write: (
      server: string,
      credentials: Redacted.Redacted<string>
    ) => Effect.Effect<void, CredentialsUnavailable>
    readonly remove: (server: string) => Effect.Effect<void, CredentialsUnavailable>
  }
>()("a2c-smcp/application/ports/CredentialStore") {}
