import { Config, Effect, type FileSystem, flow, Option, Redacted, type Scope, Stream } from "effect"
import * as ApiKeys from "../../../adapters/auth/ApiKeys.ts"
import * as Jwt from "../../../adapters/auth/Jwt.ts"
import type { JwtKeySource } from "../../../adapters/auth/jwtKeys.ts"
import { parseSimpleKeys } from "../../../adapters/auth/apiKeyEntries.ts"
import { makeSchemeAuthenticator, type CredentialScheme } from "../../../adapters/auth/CredentialScheme.ts"
import { isLoopbackHost } from "../../../adapters/http/hostAccess.ts"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import type { Authenticator } from "../../../application/ports/Authenticator.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { readTextFile } from "../../config/configFiles.ts"
import { watchKeyFile, readKeyFile } from "../../config/keyFile.ts"
import { CommandFailed, toCommandFailed, failCommand } from "../CommandFailed.ts"
import type { AuthenticationFlags } from "./authenticationFlags.ts"

interface AuthenticationOptions extends AuthenticationFlags {
  readonly host: string
}

type Requirements = FileSystem.FileSystem | Scope.Scope

/** Reads a secret from the environment; `undefined` when the variable is missing or empty. */
const secretVariable = (name: string): Effect.Effect<Redacted.Redacted | undefined, CommandFailed> =>
  Effect.mapBoth(Config.option(Config.Redacted(name)), {
    onFailure: toCommandFailed,
    onSuccess: flow(
      Option.filter((secret) => Redacted.value(secret) !== ""),
      Option.getOrUndefined
    )
  })

const apiKeySchemes = Effect.fnUntraced(function* (
  file: string | undefined
): Effect.fn.Return<ReadonlyArray<CredentialScheme>, CommandFailed, Requirements> {
  const fromVariable = yield* secretVariable("A2C_API_KEYS")
  if (file === undefined && fromVariable === undefined) return []
  const simple =
    fromVariable === undefined
      ? []
      : yield* Effect.mapError(
          Effect.fromResult(parseSimpleKeys(Redacted.value(fromVariable))),
          (reason) => new CommandFailed({ message: `A2C_API_KEYS cannot be used: ${reason}` })
        )
  if (file === undefined) return [yield* ApiKeys.make(simple)]
  const entries = yield* Effect.mapError(
    readKeyFile(file),
    (errors) => new CommandFailed({ message: errors.join("\na2c: ") })
  )
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const updates = watchKeyFile(file, entries).pipe(
    Stream.map((next) => [...simple, ...next]),
    Stream.provideContext(context)
  )
  return [yield* ApiKeys.make([...simple, ...entries], updates)]
})

const readJwtSource = Effect.fnUntraced(function* ({
  jwtJwks,
  jwtPublicKey,
  jwtSecretFile
}: AuthenticationOptions): Effect.fn.Return<JwtKeySource | undefined, CommandFailed, FileSystem.FileSystem> {
  const secret =
    jwtSecretFile === undefined
      ? yield* secretVariable("A2C_JWT_SECRET")
      : Redacted.make(yield* Effect.mapError(readTokenFile(jwtSecretFile), toCommandFailed))
  if ([secret, jwtPublicKey, jwtJwks].filter((source) => source !== undefined).length > 1) {
    return yield* failCommand("Give one of --jwt-secret-file (or A2C_JWT_SECRET), --jwt-public-key and --jwt-jwks")
  }
  if (secret !== undefined) return { _tag: "Secret", secret }
  if (jwtJwks !== undefined) return { _tag: "KeySet", url: jwtJwks }
  if (jwtPublicKey === undefined) return undefined
  const text = yield* Effect.mapError(
    Effect.flatMap(readTextFile(jwtPublicKey), Effect.fromResult),
    (reason) => new CommandFailed({ message: `The JWT public key is invalid: ${jwtPublicKey}: ${reason}` })
  )
  return { _tag: "PublicKey", text }
})

const jwtSchemes = Effect.fnUntraced(function* (
  options: AuthenticationOptions
): Effect.fn.Return<ReadonlyArray<CredentialScheme>, CommandFailed, Requirements> {
  const source = yield* readJwtSource(options)
  const { jwtAudience: audience, jwtIssuer: issuer, jwtNames, jwtOffices, jwtRights } = options
  if (source === undefined) {
    return issuer !== undefined || audience !== undefined || jwtRights.length > 0
      ? yield* failCommand("JWT settings need a key: give --jwt-secret-file, --jwt-public-key or --jwt-jwks")
      : []
  }
  const defaultGrants = { rights: jwtRights, offices: jwtOffices, names: jwtNames }
  const scheme = Jwt.make({ source, defaultGrants, ...definedOnly({ issuer, audience }) })
  return [yield* Effect.mapError(scheme, toCommandFailed)]
})

/** The authenticator that the flags describe; `undefined` without authentication, on loopback or with `--insecure`. */
export const makeAuthenticator = Effect.fnUntraced(function* (
  options: AuthenticationOptions,
  hasTls: boolean
): Effect.fn.Return<Authenticator["Service"] | undefined, CommandFailed, Requirements> {
  const { apiKeys, host, insecure } = options
  // The shape of a credential identifies a JWT; every other credential is an API key.
  const schemes = [...(yield* jwtSchemes(options)), ...(yield* apiKeySchemes(apiKeys))]
  if (schemes.length > 0) {
    if (!isLoopbackHost(host) && !hasTls) {
      yield* Effect.logWarning(
        "credentials are sent unencrypted: set --tls-cert and --tls-key, or terminate TLS in a proxy"
      )
    }
    return makeSchemeAuthenticator(schemes)
  }
  return insecure || isLoopbackHost(host)
    ? undefined
    : yield* failCommand(
        `${host} is reachable from other machines, and the Server has no authentication: give --api-keys FILE or a ` +
          "--jwt-… flag, or listen on 127.0.0.1; --insecure disables authentication"
      )
})
