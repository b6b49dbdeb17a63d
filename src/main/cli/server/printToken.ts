import { Effect, Redacted } from "effect"
import { signMemberToken } from "../../../adapters/auth/Jwt.ts"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { failCommand } from "../../CommandFailed.ts"
import { print, printError, printJson } from "../output/print.ts"
import { readJwtSecret } from "./authentication.ts"
import type { TokenCommandOptions } from "./flags.ts"

/** Prints a token by which one member may join. */
export const printToken = Effect.fnUntraced(function* (options: TokenCommandOptions) {
  const { json, jwtAudience: audience, jwtIssuer: issuer, jwtPrivateKey: file, name, office, role } = options
  const privateKey = file === undefined ? file : Redacted.make(yield* readTokenFile(file, "the private key"))
  const secret = yield* readJwtSecret(options.jwtSecretFile)
  const [key, ...others] = [secret, privateKey].filter((one) => one !== undefined)
  if (key === undefined || others.length > 0) {
    return yield* failCommand(
      "The key of the Server signs its tokens: give one of --jwt-secret-file (or A2C_JWT_SECRET) and --jwt-private-key"
    )
  }
  const claims = definedOnly({ audience, issuer, subject: options.subject, ttl: options.ttl })
  const { expiresAt, token } = yield* signMemberToken({ key, office, role, name, ...claims })
  const expires = new Date(expiresAt).toISOString()
  if (json) return yield* printJson({ token, office, role, name, expires })
  yield* printError(`Token for ${role} '${name}' in office '${office}', valid until ${expires}:`)
  yield* print(token)
})
