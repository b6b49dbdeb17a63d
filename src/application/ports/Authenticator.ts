import { Context, Effect, Stream } from "effect"
import { everything, type Identity } from "../../domain/office/identity.ts"
import type { AdmissionRefused, Handshake } from "./Transport.ts"

/** Finds out who connects. */
export class Authenticator extends Context.Service<
  Authenticator,
  {
    /** Who this is and what it may do, or why it is not let in. */
    readonly authenticate: (handshake: Handshake) => Effect.Effect<Identity, AdmissionRefused>
    /** Is an identity that was let in still welcome? Expiry needs no question: identities carry it. */
    readonly welcome: (identity: Identity) => boolean
    /** Something that `welcome` depends on has changed: every identity should be asked for again. */
    readonly changes: Stream.Stream<void>
  }
>()("a2c-smcp/application/ports/Authenticator") {}

/** Everybody may come and do everything: right for one machine only. */
export const anybody = Authenticator.of({
  authenticate: () => Effect.succeed({ subject: "anybody", grants: everything, expiresAt: undefined }),
  welcome: () => true,
  changes: Stream.never
})
