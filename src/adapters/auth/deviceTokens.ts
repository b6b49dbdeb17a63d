import { Effect, Redacted } from "effect"
import { type AuthenticateDevice, DeviceRejected } from "../../application/devices/AuthenticateDevice.ts"
import { isSameSecret } from "./isSameSecret.ts"

const invalidToken = new DeviceRejected({ message: "the token is not valid" })

/** An empty token never matches, not even an empty configured one. */
const tokenMatches = (presented: string, token: Redacted.Redacted): boolean =>
  isSameSecret(presented, Redacted.value(token)) && presented !== ""

/** Authenticates devices by a shared token. Each device declares its name. */
export const authenticateByToken =
  (token: Redacted.Redacted): AuthenticateDevice =>
  (credentials) =>
    tokenMatches(credentials.token, token) ? Effect.succeed({}) : Effect.fail(invalidToken)

/** Authenticates devices by individual tokens, which determine their names. */
export const authenticateByTokens =
  (tokens: ReadonlyMap<string, Redacted.Redacted>): AuthenticateDevice =>
  (credentials) => {
    // Compares all tokens: the duration must not reveal which one matched.
    const [name] = [...tokens].filter(([, token]) => tokenMatches(credentials.token, token)).map(([known]) => known)
    return name === undefined ? Effect.fail(invalidToken) : Effect.succeed({ name })
  }
