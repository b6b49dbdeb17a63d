import { Config, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { Right } from "../../../domain/model/Identity.ts"
import { repeatableOrCommaSeparated, repeatable } from "../sharedFlags.ts"

/** A setting that is a text, and its variable. */
const textSetting = (name: string, variable: string, metavar: string, description: string) =>
  Flag.String(name).pipe(
    Flag.withMetavar(metavar),
    Flag.withDescription(`${description} [env ${variable}]`),
    Flag.withFallbackConfig(Config.String(variable)),
    Flag.optional
  )

const patternFlag = (name: string) => Flag.withMetavar(Flag.String(name), "PATTERN")
const rightFlag = (name: string) => Flag.Literals(name, Right.literals)

/** Who may enter a Server. Secrets have no flags: others can see the arguments of a process. */
export const authenticationFlags = {
  apiKeys: textSetting(
    "api-keys",
    "A2C_API_KEYS_FILE",
    "FILE",
    "file with the keys that members may show; followed while the Server runs. " +
      "Without one, keys like NAME=KEY,NAME=KEY may stand in A2C_API_KEYS"
  ),
  jwtSecretFile: textSetting(
    "jwt-secret-file",
    "A2C_JWT_SECRET_FILE",
    "FILE",
    "take tokens (JWT, HS256) that are signed with the secret in this file, or in A2C_JWT_SECRET"
  ),
  jwtPublicKey: textSetting(
    "jwt-public-key",
    "A2C_JWT_PUBLIC_KEY",
    "FILE",
    "take tokens that are signed with the other half of this public key, PEM or JWK"
  ),
  jwtJwks: textSetting(
    "jwt-jwks",
    "A2C_JWT_JWKS",
    "URL",
    "take tokens of an identity provider, which publishes its keys there"
  ),
  jwtIssuer: textSetting("jwt-issuer", "A2C_JWT_ISSUER", "TEXT", "what the claim 'iss' of tokens must be"),
  jwtAudience: textSetting(
    "jwt-audience",
    "A2C_JWT_AUDIENCE",
    "TEXT",
    "what the claim 'aud' of tokens must hold"
  ),
  jwtRights: repeatableOrCommaSeparated(
    rightFlag("jwt-right"),
    Right,
    "A2C_JWT_RIGHT",
    "what tokens without a claim 'a2c' may do [default: nothing]"
  ),
  jwtOffices: repeatableOrCommaSeparated(
    patternFlag("jwt-office"),
    Schema.String,
    "A2C_JWT_OFFICE",
    "which offices such tokens may join: 'team*'"
  ),
  jwtNames: repeatableOrCommaSeparated(
    patternFlag("jwt-name"),
    Schema.String,
    "A2C_JWT_NAME",
    "by which names the members with such tokens may go: 'team*'"
  ),
  insecure: Flag.Boolean("insecure").pipe(
    Flag.withDescription("let everybody in although others reach this address [env A2C_INSECURE]"),
    Flag.withFallbackConfig(Config.Boolean("A2C_INSECURE")),
    Flag.withDefault(false)
  ),
  tlsCert: textSetting(
    "tls-cert",
    "A2C_TLS_CERT",
    "FILE",
    "speak TLS with this certificate, PEM; followed, too"
  ),
  tlsKey: textSetting("tls-key", "A2C_TLS_KEY", "FILE", "the private key of the certificate, PEM")
}

/** `a2c server key`. */
export const keyCommand = Command.make(
  "key",
  {
    subject: Flag.String("subject").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("who shows the key, for the log [default: member]"),
      Flag.withDefault("member")
    ),
    rights: repeatable(rightFlag("right"), "what the key is good for [default: agent and computer]").pipe(
      Flag.map((given) => (given.length === 0 ? (["agent", "computer"] as const) : given))
    ),
    offices: repeatable(patternFlag("office"), "which offices it opens: 'team*' [default: all]").pipe(
      Flag.map((given) => (given.length === 0 ? ["*"] : given))
    ),
    names: repeatable(patternFlag("name"), "by which names its owner may go: 'team*' [default: any]").pipe(
      Flag.map((given) => (given.length === 0 ? ["*"] : given))
    ),
    expires: Flag.String("expires").pipe(
      Flag.withMetavar("MOMENT"),
      Flag.withDescription("when it ends: 2030-01-31 or 2030-01-31T12:00:00Z [default: never]"),
      Flag.optional
    )
  },
  Effect.fn(function* (options) {
    const { printKey } = yield* Effect.promise(() => import("./printKey.ts"))
    return yield* printKey(options)
  })
).pipe(
  Command.withDescription("Make a key for a member: it goes to stdout, the entry of --api-keys to stderr"),
  Command.withExamples([
    {
      command: "a2c server key --subject desk --right computer --office team > desk.key",
      description: "A key for a Computer of the office 'team', to be given by --token-file desk.key"
    }
  ])
)
