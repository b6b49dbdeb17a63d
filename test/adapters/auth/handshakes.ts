import { Effect } from "effect"
import type { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import type { Handshake } from "../../../src/application/ports/Transport.ts"

/** A handshake that shows what stands here. */
export const handshake = (shown: Partial<Handshake>): Handshake => ({
  version: { major: 0, minor: 2, patch: 0 },
  auth: {},
  headers: {},
  remoteAddress: "test",
  ...shown
})

/** Who shows this token, or why not, as one word. */
export const outcome = ({ authenticate }: Pick<Authenticator["Service"], "authenticate">, token: unknown) =>
  Effect.match(authenticate(handshake({ auth: { token } })), {
    onFailure: ({ code, reason }) => `${code} ${reason}`,
    onSuccess: ({ subject }) => subject
  })
