import { Config, Effect, type FileSystem, Option, Redacted, type Scope, Stream } from "effect"
import * as ApiKeys from "../../adapters/auth/ApiKeys.ts"
import * as Jwt from "../../adapters/auth/Jwt.ts"
import type { JwtSource } from "../../adapters/auth/jwtKeys.ts"
import { readSimpleKeys } from "../../adapters/auth/keyEntries.ts"
import { bySchemes, type Scheme } from "../../adapters/auth/schemes.ts"
import { isOwnHost } from "../../adapters/node/network.ts"
import { tokenFile } from "../../adapters/node/tokenFile.ts"
import type { Authenticator } from "../../application/ports/Authenticator.ts"
import type { Right } from "../../domain/office/identity.ts"
import { readText } from "../config/files.ts"
import { keyFileUpdates, readKeyFile } from "../config/keyFile.ts"
import { CommandFailed, failed, refuse } from "../failure.ts"

/** What the command line says about who may enter. */
export interface AuthenticationCommand {
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

type Needs = FileSystem.FileSystem | Scope.Scope

/** A secret of the environment; an empty one is none. */
const secretOf = (name: string): Effect.Effect<Option.Option<Redacted.Redacted>, CommandFailed> =>
  Effect.mapBoth(Config.option(Config.Redacted(name)), {
    onFailure: failed,
    onSuccess: Option.filter((secret) => Redacted.value(secret) !== "")
  })

const keysOf = Effect.fnUntraced(function* (
  file: Option.Option<string>
): Effect.fn.Return<ReadonlyArray<Scheme>, CommandFailed, Needs> {
  const set = yield* secretOf("A2C_API_KEYS")
  if (Option.isNone(file) && Option.isNone(set)) return []
  const simple = Option.isNone(set)
    ? []
    : yield* Effect.mapError(
        Effect.fromResult(readSimpleKeys(Redacted.value(set.value))),
        (why) => new CommandFailed({ message: `A2C_API_KEYS cannot be used: ${why}` })
      )
  if (Option.isNone(file)) return [yield* ApiKeys.make(simple)]
  const entries = yield* Effect.mapError(
    readKeyFile(file.value),
    (faults) => new CommandFailed({ message: faults.join("\na2c: ") })
  )
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const updates = keyFileUpdates(file.value, entries).pipe(
    Stream.map((next) => [...simple, ...next]),
    Stream.provideContext(context)
  )
  return [yield* ApiKeys.make([...simple, ...entries], updates)]
})

const sourceOf = Effect.fnUntraced(function* ({
  jwtJwks,
  jwtPublicKey,
  jwtSecretFile
}: AuthenticationCommand): Effect.fn.Return<Option.Option<JwtSource>, CommandFailed, FileSystem.FileSystem> {
  const secret = Option.isSome(jwtSecretFile)
    ? Option.some(Redacted.make(yield* Effect.mapError(tokenFile(jwtSecretFile.value), failed)))
    : yield* secretOf("A2C_JWT_SECRET")
  const given = [secret, jwtPublicKey, jwtJwks].filter((one) => Option.isSome<unknown>(one))
  if (given.length > 1) {
    return yield* refuse("Give one of --jwt-secret-file (or A2C_JWT_SECRET), --jwt-public-key and --jwt-jwks")
  }
  if (Option.isSome(secret)) return Option.some({ _tag: "Secret", secret: secret.value })
  if (Option.isSome(jwtJwks)) return Option.some({ _tag: "KeySet", url: jwtJwks.value })
  if (Option.isNone(jwtPublicKey)) return Option.none()
  const file = jwtPublicKey.value
  const text = yield* Effect.mapError(
    Effect.flatMap(readText(file), Effect.fromResult),
    (why) => new CommandFailed({ message: `The key of the tokens cannot be used: ${file}: ${why}` })
  )
  return Option.some({ _tag: "PublicKey", text })
})

const tokensOf = Effect.fnUntraced(function* (
  command: AuthenticationCommand
): Effect.fn.Return<ReadonlyArray<Scheme>, CommandFailed, Needs> {
  const source = yield* sourceOf(command)
  const { jwtAudience, jwtIssuer, jwtNames, jwtOffices, jwtRights } = command
  if (Option.isNone(source)) {
    const isMeant = Option.isSome(jwtIssuer) || Option.isSome(jwtAudience) || jwtRights.length > 0
    return isMeant
      ? yield* refuse("What checks the tokens? Give --jwt-secret-file, --jwt-public-key or --jwt-jwks")
      : []
  }
  const scheme = Jwt.make({
    source: source.value,
    ...(Option.isSome(jwtIssuer) && { issuer: jwtIssuer.value }),
    ...(Option.isSome(jwtAudience) && { audience: jwtAudience.value }),
    fallback: { rights: jwtRights, offices: jwtOffices, names: jwtNames }
  })
  return [yield* Effect.mapError(scheme, failed)]
})

/** Who may enter a Server; `undefined` when everybody may, which has to be said where others can reach it. */
export const authenticationOf = Effect.fnUntraced(function* (
  command: AuthenticationCommand,
  encrypted: boolean
): Effect.fn.Return<Authenticator | undefined, CommandFailed, Needs> {
  const { apiKeys, host, insecure } = command
  // A token is known by its shape; whatever else is shown is a key.
  const schemes = [...(yield* tokensOf(command)), ...(yield* keysOf(apiKeys))]
  if (schemes.length > 0) {
    if (!isOwnHost(host) && !encrypted) {
      yield* Effect.logWarning(
        "credentials travel in the open unless a proxy in front of this Server speaks TLS: give --tls-cert and --tls-key"
      )
    }
    return bySchemes(schemes)
  }
  return insecure || isOwnHost(host)
    ? undefined
    : yield* refuse(
        `Whoever reaches ${host} could enter every office: give --api-keys FILE, or tokens by --jwt-jwks URL and the ` +
          "like, or listen on 127.0.0.1; --insecure lets everybody in all the same"
      )
})
