import { Effect, Redacted } from "effect"
import { type AuthenticateDevice, DeviceRejected } from "../../application/devices/AuthenticateDevice.ts"
import { isSameSecret } from "./isSameSecret.ts"

const invalidToken = new DeviceRejected({ message: "the token is not valid" })

/** Whoever shows nothing has no token, whatever the operator has set. */
const tokenMatches = (presented: string, token: Redacted.Redacted): boolean =>
  isSameSecret(presented, Redacted.value(token)) && presented !== ""

/** Lets everybody in who shows this token; each device says itself which name it goes by. */
export const authenticateByToken =
  (token: Redacted.Redacted): AuthenticateDevice =>
  (credentials) =>
    tokenMatches(credentials.token, token) ? Effect.succeed({}) : Effect.fail(invalidToken)

/** Lets devices in that each have a token of their own, by which it is known which one it is. */
export const authenticateByTokens =
  (tokens: ReadonlyMap<string, Redacted.Redacted>): AuthenticateDevice =>
  (credentials) => {
    // All are compared, so that the time it takes does not tell which one it was.
    const [name] = [...tokens]
      .filter(([, token]) => tokenMatches(credentials.token, token))
      .map(([known]) => known)
    return name === undefined ? Effect.fail(invalidToken) : Effect.succeed({ name })
  }
