import type { Command } from "effect/cli"
import { Right } from "../../../domain/model/Identity.ts"
import { setting } from "../setting.ts"

/** Authentication of a Server. Secrets have no flags: other processes can read the arguments of a process. */
export const authenticationFlags = {
  apiKeys: setting.text("api-keys", {
    env: "A2C_API_KEYS_FILE",
    metavar: "FILE",
    help: "file with the API keys of members, reloaded when it changes; A2C_API_KEYS takes keys as NAME=KEY,NAME=KEY",
    default: undefined
  }),
  jwtSecretFile: setting.text("jwt-secret-file", {
    metavar: "FILE",
    help: "accept JWTs signed with the secret in this file, or in A2C_JWT_SECRET (HS256)",
    default: undefined
  }),
  jwtPublicKey: setting.text("jwt-public-key", {
    metavar: "FILE",
    help: "accept JWTs signed with the private key of this public key, PEM or JWK",
    default: undefined
  }),
  jwtJwks: setting.text("jwt-jwks", {
    metavar: "URL",
    help: "accept JWTs of an identity provider that publishes its keys at this URL",
    default: undefined
  }),
  jwtIssuer: setting.text("jwt-issuer", {
    metavar: "TEXT",
    help: "value that the claim 'iss' of JWTs must have",
    default: undefined
  }),
  jwtAudience: setting.text("jwt-audience", {
    metavar: "TEXT",
    help: "value that the claim 'aud' of JWTs must contain",
    default: undefined
  }),
  jwtRights: setting.choices("jwt-right", Right.literals, {
    help: "right of JWTs without a claim 'a2c'",
    shown: "none"
  }),
  jwtOffices: setting.texts("jwt-office", {
    metavar: "PATTERN",
    help: "office that such JWTs may join: 'team*'"
  }),
  jwtNames: setting.texts("jwt-name", {
    metavar: "PATTERN",
    help: "member name that such JWTs permit: 'team*'"
  }),
  insecure: setting.toggle("insecure", {
    help: "disable authentication on an address that other machines reach",
    default: false
  }),
  tlsCert: setting.text("tls-cert", {
    metavar: "FILE",
    help: "serve TLS with this certificate, PEM, reloaded when it changes",
    default: undefined
  }),
  tlsKey: setting.text("tls-key", {
    metavar: "FILE",
    help: "the private key of the certificate, PEM",
    default: undefined
  })
}

export type AuthenticationFlags = Command.Command.Config.Infer<typeof authenticationFlags>
