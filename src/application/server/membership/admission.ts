import { Clock, Duration, Effect, Exit, FiberSet, Option, Result } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { Identity } from "../../../domain/model/Identity.ts"
import { isRole, type Role, someRole } from "../../../domain/model/Membership.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import { checkConnectRights } from "../../../domain/office/grants.ts"
import {
  admissionRejected,
  Authenticator,
  checkCredentials,
  checkIdentity,
  watchCredentials
} from "../../ports/Authenticator.ts"
import { AdmissionRejected, type Handshake } from "../../ports/Transport.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { Limits, ServerSettings } from "../Limits.ts"

/** Time limit of the authenticator, unless the join or idle timeout is shorter. Clients wait longer to connect. */
const maxAuthenticationTime = Duration.seconds(15)

/** Longest `auth.instance` that counts, in UTF-16 units; our clients send 32. */
const maxInstanceLength = 128

/** The role in the handshake, which may state none unless `required` (spec §2.5). */
const parseHandshakeRole = (auth: unknown, required: boolean) => {
  const declared = isJsonObject(auth) ? auth["role"] : auth
  if (isRole(declared) && isJsonObject(auth)) return Result.succeed(someRole[declared])
  if ((declared === undefined || auth === null) && !required) return Result.succeed(Option.none())
  const message = 'auth.role must be "agent" or "computer"'
  return Result.fail(new AdmissionRejected({ code: errorCodes.badRequest, message }))
}

/**
 * The secret that lets a reconnecting member take its session over: its subject and the secret `auth.instance` of its
 * client. Empty without such a secret, which permits no takeover.
 */
export const reconnectKeyOf = (subject: string, auth: unknown): string => {
  const instance = isJsonObject(auth) ? auth["instance"] : undefined
  return typeof instance === "string" && instance !== "" && instance.length <= maxInstanceLength
    ? `${subject}\u0000${instance}`
    : ""
}

/** Authenticates connections, and closes those whose credentials expire or are revoked. */
export const makeAdmission = Effect.fnUntraced(function* (connections: Connections) {
  const authenticator = yield* Authenticator
  const clock = yield* Clock.Clock
  const { idleTimeout, joinTimeout } = yield* Limits
  const settings = yield* ServerSettings
  const run = yield* FiberSet.makeRuntime<never>()
  const authenticationTimeout = [joinTimeout, idleTimeout].reduce(Duration.min, maxAuthenticationTime)

  const isSlow = () => Effect.fail(admissionRejected("unavailable", "Credentials cannot be checked right now"))

  const authenticate = (handshake: Handshake) => {
    const identity = authenticator.authenticate(handshake)
    // An authenticator that knows the identity at once needs no timer.
    if (Exit.isExit(identity)) return checkIdentity(authenticator, identity)
    return checkIdentity(authenticator, identity).pipe(
      Effect.timeoutOrElse({ duration: authenticationTimeout, orElse: isSlow })
    )
  }

  /** The identity of a connecting client, and the role that it states. `known` is an identity that has authenticated. */
  const admit = Effect.fnUntraced(function* (
    handshake: Handshake,
    { hasRoleInHandshake }: ProtocolLine,
    known: Identity | undefined
  ) {
    const identity = known ?? (yield* authenticate(handshake))
    const role = hasRoleInHandshake
      ? yield* Effect.fromResult(parseHandshakeRole(handshake.auth, settings.requireRole))
      : Option.none<Role>()
    const denial = checkConnectRights(identity, role)
    if (denial !== undefined) return yield* admissionRejected("role_not_granted", denial)
    return { identity, role }
  })

  /** The rejection of a connection whose credentials have expired or were revoked. */
  const credentialRejection = ({ identity }: Connection) =>
    checkCredentials(authenticator, identity, clock.currentTimeMillisUnsafe())

  const closeConnection = ({ identity: { subject }, link }: Connection, { reason }: AdmissionRejected) => {
    const cause = reason === "expired_credentials" ? "expired" : "revoked"
    return Effect.andThen(
      Effect.logInfo("connection closed", { sid: link.id, subject, reason: `credentials_${cause}` }),
      link.close(`credentials ${cause}`)
    )
  }

  // Each link closes in its own fiber: a link with a join in progress takes its time.
  yield* watchCredentials(authenticator, () => {
    for (const connection of connections.all()) {
      const rejection = connection.closing ? undefined : credentialRejection(connection)
      if (rejection === undefined) continue
      connection.closing = true
      run(closeConnection(connection, rejection))
    }
  })

  return { admit, credentialRejection }
})
