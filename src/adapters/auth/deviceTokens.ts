import { Effect, type Redacted } from "effect"
import { type AuthenticateDevice, DeviceRejected } from "../../application/devices/DeviceGatewayOptions.ts"
import { isToken } from "./secrets.ts"

const invalidToken = new DeviceRejected({ message: "the token is not valid" })

/** Authenticates devices by a shared token. Each device declares its name. */
export const authenticateByToken =
  (token: Redacted.Redacted): AuthenticateDevice =>
  (credentials) =>
    isToken(credentials.token, token) ? Effect.succeed({}) : Effect.fail(invalidToken)

/** Authenticates devices by individual tokens, which determine their names. */
export const authenticateByTokens =
  (tokens: ReadonlyMap<string, Redacted.Redacted>): AuthenticateDevice =>
  (credentials) => {
    // Compares all tokens: the duration must not reveal which one matched.
    const [found] = [...tokens].filter(([, token]) => isToken(credentials.token, token))
    return found === undefined ? Effect.fail(invalidToken) : Effect.succeed({ name: found[0] })
  }
