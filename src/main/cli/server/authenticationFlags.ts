import type { Command } from "effect/cli"
import { Right } from "../../../domain/model/Identity.ts"
import { setting } from "../setting.ts"

/** Authentication of a Server. Secrets have no flags: other processes can read the arguments of a process. */
export const authenticationFlags = {
  apiKeys: setting.text(
    "api-keys",
    "file with the API keys of members, reloaded when it changes; A2C_API_KEYS takes keys as NAME=KEY,NAME=KEY",
    { env: "A2C_API_KEYS_FILE", metavar: "FILE" }
  ),
  jwtSecretFile: setting.text(
    "jwt-secret-file",
    "accept JWTs signed with the secret in this file, or in A2C_JWT_SECRET (HS256)",
    { metavar: "FILE" }
  ),
  jwtPublicKey: setting.text(
    "jwt-public-key",
    "accept JWTs signed with the private key of this public key, PEM or JWK",
    { metavar: "FILE" }
  ),
  jwtJwks: setting.text("jwt-jwks", "accept JWTs of an identity provider that publishes its keys at this URL", {
    metavar: "URL"
  }),
  jwtIssuer: setting.text("jwt-issuer", "value that the claim 'iss' of JWTs must have", { metavar: "TEXT" }),
  jwtAudience: setting.text("jwt-audience", "value that the claim 'aud' of JWTs must contain", { metavar: "TEXT" }),
  jwtRights: setting.choices("jwt-right", "right of JWTs without a claim 'a2c'", Right.literals, { shown: "none" }),
  jwtOffices: setting.texts("jwt-office", "office that such JWTs may join: 'team*'", { metavar: "PATTERN" }),
  jwtNames: setting.texts("jwt-name", "member name that such JWTs permit: 'team*'", { metavar: "PATTERN" }),
  insecure: setting.toggle("insecure", "disable authentication on an address that other machines reach"),
  tlsCert: setting.text("tls-cert", "serve TLS with this certificate, PEM, reloaded when it changes", {
    metavar: "FILE"
  }),
  tlsKey: setting.text("tls-key", "the private key of the certificate, PEM", { metavar: "FILE" })
}

export type AuthenticationFlags = Command.Command.Config.Infer<typeof authenticationFlags>
