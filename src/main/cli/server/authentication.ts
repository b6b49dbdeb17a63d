import { Config, Effect, type FileSystem, Option, Redacted, Stream } from "effect"
import * as ApiKeys from "../../../adapters/auth/ApiKeys.ts"
import type { JwtKeySource } from "../../../adapters/auth/jwtKeys.ts"
import { parseSimpleKeys } from "../../../adapters/auth/apiKeyEntries.ts"
import { makeSchemeAuthenticator } from "../../../adapters/auth/CredentialScheme.ts"
import { allowAll } from "../../../application/ports/Authenticator.ts"
import { isLoopbackHost } from "../../../adapters/http/hostAccess.ts"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { readTextFile } from "../../config/documents.ts"
import { readKeyFile, watchKeyFile } from "../../config/serverFiles.ts"
import { type CommandError, failCommand, requireSuccess } from "../../CommandFailed.ts"
import type { ServerCommandOptions } from "./flags.ts"

/** Reads a secret from the environment; `undefined` when the variable is missing or empty. */
const secretVariable = (name: string) =>
  Effect.map(Config.option(Config.Redacted(name)), (given) =>
    Option.getOrUndefined(Option.filter(given, (secret) => Redacted.value(secret) !== ""))
  )

const apiKeySchemes = Effect.fnUntraced(function* (file: string | undefined) {
  const fromVariable = yield* secretVariable("A2C_API_KEYS")
  const simple =
    fromVariable === undefined
      ? []
      : yield* requireSuccess(
          parseSimpleKeys(Redacted.value(fromVariable)),
          (reason) => `A2C_API_KEYS cannot be used: ${reason}`
        )
  if (file === undefined) return fromVariable === undefined ? [] : [yield* ApiKeys.make(simple)]
  const entries = yield* Effect.catch(readKeyFile(file), (errors) => failCommand(errors.join("\n")))
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const updates = watchKeyFile(file, entries).pipe(
    Stream.map((next) => [...simple, ...next]),
    Stream.provideContext(context)
  )
  return [yield* ApiKeys.make([...simple, ...entries], updates)]
})

/** The secret in this file, or in the variable. */
export const readJwtSecret = Effect.fnUntraced(function* (file: string | undefined) {
  return file === undefined ? yield* secretVariable("A2C_JWT_SECRET") : Redacted.make(yield* readTokenFile(file))
})

const readJwtSource = Effect.fnUntraced(function* (
  options: ServerCommandOptions
): Effect.fn.Return<JwtKeySource | undefined, CommandError, FileSystem.FileSystem> {
  const { jwtJwks, jwtPublicKey, jwtSecretFile } = options
  const secret = yield* readJwtSecret(jwtSecretFile)
  if ([secret, jwtPublicKey, jwtJwks].filter((source) => source !== undefined).length > 1) {
    return yield* failCommand("Give one of --jwt-secret-file (or A2C_JWT_SECRET), --jwt-public-key and --jwt-jwks")
  }
  if (secret !== undefined) return { _tag: "Secret", secret }
  if (jwtJwks !== undefined) return { _tag: "KeySet", url: jwtJwks }
  if (jwtPublicKey === undefined) return undefined
  const text = yield* Effect.catch(readTextFile(jwtPublicKey), (reason) =>
    failCommand(`The JWT public key is invalid: ${jwtPublicKey}: ${reason}`)
  )
  return { _tag: "PublicKey", text }
})

const jwtSchemes = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  const source = yield* readJwtSource(options)
  const { jwtAudience: audience, jwtIssuer: issuer, jwtNames, jwtOffices, jwtRights } = options
  if (source === undefined) {
    const hasSettings = [issuer, audience, ...jwtRights, ...jwtOffices, ...jwtNames].some((one) => one !== undefined)
    return hasSettings
      ? yield* failCommand("JWT settings need a key: give --jwt-secret-file, --jwt-public-key or --jwt-jwks")
      : []
  }
  const defaultGrants = { rights: jwtRights, offices: jwtOffices, names: jwtNames }
  const Jwt = yield* Effect.promise(() => import("../../../adapters/auth/Jwt.ts"))
  return [yield* Jwt.make({ source, defaultGrants, ...definedOnly({ issuer, audience }) })]
})

/** The authenticator that the flags describe. Without credentials it allows all, on loopback or with `--insecure`. */
export const makeAuthenticator = Effect.fnUntraced(function* (options: ServerCommandOptions, hasTls: boolean) {
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
    ? allowAll
    : yield* failCommand(
        `${host} is reachable from other machines, and the Server has no authentication: give --api-keys FILE or a ` +
          "--jwt-… flag, or listen on 127.0.0.1; --insecure disables authentication"
      )
})
