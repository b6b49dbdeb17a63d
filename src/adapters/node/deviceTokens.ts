import { Effect, Redacted } from "effect"
import { type AuthenticateDevice, DeviceRefused } from "../../application/devices/Authentication.ts"
import { sameText } from "./sameText.ts"

const wrong = new DeviceRefused({ message: "the token is not valid" })

/** Whoever shows nothing has no token, whatever the operator has set. */
const fits = (shown: string, token: Redacted.Redacted): boolean =>
  sameText(shown, Redacted.value(token)) && shown !== ""

/** Lets everybody in who shows this token; each device says itself which name it goes by. */
export const byToken =
  (token: Redacted.Redacted): AuthenticateDevice =>
  (shown) =>
    fits(shown.token, token) ? Effect.succeed({}) : Effect.fail(wrong)

/** Lets devices in that each have a token of their own, by which it is known which one it is. */
export const byTokens =
  (tokens: ReadonlyMap<string, Redacted.Redacted>): AuthenticateDevice =>
  (shown) => {
    // All are compared, so that the time it takes does not tell which one it was.
    const [name] = [...tokens].filter(([, token]) => fits(shown.token, token)).map(([known]) => known)
    return name === undefined ? Effect.fail(wrong) : Effect.succeed({ name })
  }
