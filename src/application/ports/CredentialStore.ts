import { Context, Data, type Effect, type Option, type Redacted } from "effect"

/** Credentials cannot be stored or read. The message names the location, never a credential. */
export class CredentialsUnavailable extends Data.TaggedError("CredentialsUnavailable")<{ readonly message: string }> {}

/**
 * Stores the OAuth credentials of MCP servers: one text for each server name, which only the Computer's owner can read.
 * Never part of a configuration.
 */
export class CredentialStore extends Context.Service<
  CredentialStore,
  {
    readonly read: (server: string) => Effect.Effect<Option.Option<Redacted.Redacted<string>>, CredentialsUnavailable>
    readonly write: (
      server: string,
      credentials: Redacted.Redacted<string>
    ) => Effect.Effect<void, CredentialsUnavailable>
    readonly remove: (server: string) => Effect.Effect<void, CredentialsUnavailable>
  }
>()("a2c-smcp/application/ports/CredentialStore") {}
