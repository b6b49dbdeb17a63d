import { Config, Effect, type FileSystem, Option, Redacted, type Scope, Stream } from "effect"
import * as ApiKeys from "../../../adapters/auth/ApiKeys.ts"
import * as Jwt from "../../../adapters/auth/Jwt.ts"
import type { JwtKeySource } from "../../../adapters/auth/jwtKeys.ts"
import { parseSimpleKeys } from "../../../adapters/auth/apiKeyEntries.ts"
import { makeSchemeAuthenticator, type CredentialScheme } from "../../../adapters/auth/CredentialScheme.ts"
import { isLoopbackHost } from "../../../adapters/http/hostAccess.ts"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import type { Authenticator } from "../../../application/ports/Authenticator.ts"
import type { Right } from "../../../domain/model/Identity.ts"
import { readTextFile } from "../../config/configFiles.ts"
import { watchKeyFile, readKeyFile } from "../../config/keyFile.ts"
import { CommandFailed, toCommandFailed, failCommand } from "../CommandFailed.ts"

/** What the command line says about who may enter. */
export interface AuthenticationOptions {
  readonly host: string
  /** Let everybody in, wherever they come from. */
  readonly insecure: boolean
  readonly apiKeys: Option.Option<string>
  readonly jwtSecretFile: Option.Option<string>
  readonly jwtPublicKey: Option.Option<string>
  readonly jwtJwks: Option.Option<string>
  readonly jwtIssuer: Option.Option<string>
  readonly jwtAudience: Option.Option<string>
  /** What tokens without a claim `a2c` grant. */
  readonly jwtRights: ReadonlyArray<Right>
  readonly jwtOffices: ReadonlyArray<string>
  readonly jwtNames: ReadonlyArray<string>
}

type Requirements = FileSystem.FileSystem | Scope.Scope

/** A secret of the environment; an empty one is none. */
const secretVariable = (name: string): Effect.Effect<Option.Option<Redacted.Redacted>, CommandFailed> =>
  Effect.mapBoth(Config.option(Config.Redacted(name)), {
    onFailure: toCommandFailed,
    onSuccess: Option.filter((secret) => Redacted.value(secret) !== "")
  })

const apiKeySchemes = Effect.fnUntraced(function* (
  file: Option.Option<string>
): Effect.fn.Return<ReadonlyArray<CredentialScheme>, CommandFailed, Requirements> {
  const fromVariable = yield* secretVariable("A2C_API_KEYS")
  if (Option.isNone(file) && Option.isNone(fromVariable)) return []
  const simple = Option.isNone(fromVariable)
    ? []
    : yield* Effect.mapError(
        Effect.fromResult(parseSimpleKeys(Redacted.value(fromVariable.value))),
        (reason) => new CommandFailed({ message: `A2C_API_KEYS cannot be used: ${reason}` })
      )
  if (Option.isNone(file)) return [yield* ApiKeys.make(simple)]
  const entries = yield* Effect.mapError(
    readKeyFile(file.value),
    (errors) => new CommandFailed({ message: errors.join("\na2c: ") })
  )
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const updates = watchKeyFile(file.value, entries).pipe(
    Stream.map((next) => [...simple, ...next]),
    Stream.provideContext(context)
  )
  return [yield* ApiKeys.make([...simple, ...entries], updates)]
})

const readJwtSource = Effect.fnUntraced(function* ({
  jwtJwks,
  jwtPublicKey,
  jwtSecretFile
}: AuthenticationOptions): Effect.fn.Return<
  Option.Option<JwtKeySource>,
  CommandFailed,
  FileSystem.FileSystem
> {
  const secret = Option.isSome(jwtSecretFile)
    ? Option.some(Redacted.make(yield* Effect.mapError(readTokenFile(jwtSecretFile.value), toCommandFailed)))
    : yield* secretVariable("A2C_JWT_SECRET")
  const given = [secret, jwtPublicKey, jwtJwks].filter((one) => Option.isSome<unknown>(one))
  if (given.length > 1) {
    return yield* failCommand(
      "Give one of --jwt-secret-file (or A2C_JWT_SECRET), --jwt-public-key and --jwt-jwks"
    )
  }
  if (Option.isSome(secret)) return Option.some({ _tag: "Secret", secret: secret.value })
  if (Option.isSome(jwtJwks)) return Option.some({ _tag: "KeySet", url: jwtJwks.value })
  if (Option.isNone(jwtPublicKey)) return Option.none()
  const file = jwtPublicKey.value
  const text = yield* Effect.mapError(
    Effect.flatMap(readTextFile(file), Effect.fromResult),
    (reason) => new CommandFailed({ message: `The key of the tokens cannot be used: ${file}: ${reason}` })
  )
  return Option.some({ _tag: "PublicKey", text })
})

const jwtSchemes = Effect.fnUntraced(function* (
  options: AuthenticationOptions
): Effect.fn.Return<ReadonlyArray<CredentialScheme>, CommandFailed, Requirements> {
  const source = yield* readJwtSource(options)
  const { jwtAudience, jwtIssuer, jwtNames, jwtOffices, jwtRights } = options
  if (Option.isNone(source)) {
    const isJwtConfigured = Option.isSome(jwtIssuer) || Option.isSome(jwtAudience) || jwtRights.length > 0
    return isJwtConfigured
      ? yield* failCommand("What checks the tokens? Give --jwt-secret-file, --jwt-public-key or --jwt-jwks")
      : []
  }
  const scheme = Jwt.make({
    source: source.value,
    ...(Option.isSome(jwtIssuer) && { issuer: jwtIssuer.value }),
    ...(Option.isSome(jwtAudience) && { audience: jwtAudience.value }),
    defaultGrants: { rights: jwtRights, offices: jwtOffices, names: jwtNames }
  })
  return [yield* Effect.mapError(scheme, toCommandFailed)]
})

/** Who may enter a Server; `undefined` when everybody may, which has to be said where others can reach it. */
export const makeAuthenticator = Effect.fnUntraced(function* (
  options: AuthenticationOptions,
  hasTls: boolean
): Effect.fn.Return<Authenticator["Service"] | undefined, CommandFailed, Requirements> {
  const { apiKeys, host, insecure } = options
  // A token is known by its shape; whatever else is shown is a key.
  const schemes = [...(yield* jwtSchemes(options)), ...(yield* apiKeySchemes(apiKeys))]
  if (schemes.length > 0) {
    if (!isLoopbackHost(host) && !hasTls) {
      yield* Effect.logWarning(
        "credentials travel in the open unless a proxy in front of this Server speaks TLS: give --tls-cert and --tls-key"
      )
    }
    return makeSchemeAuthenticator(schemes)
  }
  return insecure || isLoopbackHost(host)
    ? undefined
    : yield* failCommand(
        `Whoever reaches ${host} could enter every office: give --api-keys FILE, or tokens by --jwt-jwks URL and the ` +
          "like, or listen on 127.0.0.1; --insecure lets everybody in all the same"
      )
})
