import { Clock, Duration, Effect, FiberSet, Option, Result, Schema, Stream } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { Role } from "../../../domain/model/Membership.ts"
import { checkConnectRights } from "../../../domain/office/grants.ts"
import { admissionRejected, resolveIdentity } from "../../ports/Authenticator.ts"
import { AdmissionRejected, type Handshake } from "../../ports/Transport.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"

/** Time limit of the authenticator, unless the join or idle timeout is shorter. Clients wait longer to connect. */
const maxAuthenticationTime = Duration.seconds(15)

/** Longest sleep until an expiry, so that a changed clock or a suspended machine is noticed. */
const expiryCheckInterval = Duration.toMillis(Duration.hours(1))

/** Longest `auth.instance` that counts, in UTF-16 units; our clients send 32. */
const maxInstanceLength = 128

const isRole = Schema.is(Role)

/** The role that a connection declares. It may declare none unless `required` (spec §2.5). */
const parseDeclaredRole = (auth: unknown, required: boolean): Result.Result<Option.Option<Role>, AdmissionRejected> => {
  const declared = isJsonObject(auth) ? auth["role"] : auth
  if (isRole(declared) && isJsonObject(auth)) return Result.succeed(Option.some(declared))
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
export const makeAdmission = Effect.fnUntraced(function* (
  { authenticator, limits: { idleTimeout, joinTimeout }, settings }: ServerContext,
  connections: Connections
) {
  const run = yield* FiberSet.makeRuntime<never>()
  const authenticationTimeout = [joinTimeout, idleTimeout].reduce(Duration.min, maxAuthenticationTime)

  /** The identity and the declared role of a connecting client. */
  const admit = Effect.fnUntraced(function* (handshake: Handshake) {
    const identity = yield* resolveIdentity(authenticator, handshake).pipe(
      Effect.timeoutOrElse({
        duration: authenticationTimeout,
        orElse: () => Effect.fail(admissionRejected("unavailable", "Credentials cannot be checked right now"))
      })
    )
    const role = yield* Effect.fromResult(parseDeclaredRole(handshake.auth, settings.requireRole))
    const denial = checkConnectRights(identity, role)
    if (denial !== undefined) return yield* admissionRejected("role_not_granted", denial)
    return { identity, role }
  })

  const closeConnection = ({ identity: { subject }, link }: Connection, cause: "expired" | "revoked") =>
    Effect.andThen(
      Effect.logInfo("connection closed", { sid: link.id, subject, reason: `credentials_${cause}` }),
      link.close(`credentials ${cause}`)
    )

  const closeOnExpiry = Effect.fnUntraced(function* (connection: Connection, expiresAt: number) {
    let now = yield* Clock.currentTimeMillis
    while (now < expiresAt) {
      yield* Effect.sleep(Math.min(expiresAt - now, expiryCheckInterval))
      now = yield* Clock.currentTimeMillis
    }
    yield* closeConnection(connection, "expired")
  })

  /** Closes a connection when its credentials expire, as long as the scope. Fails when they are already revoked. */
  const enforceValidity = Effect.fnUntraced(function* (connection: Connection) {
    const { identity } = connection
    // Changes before the connection was open have not closed it.
    if (!authenticator.isStillValid(identity)) {
      return yield* admissionRejected("invalid_credentials", "The credentials are not valid any more")
    }
    if (identity.expiresAt !== undefined) {
      yield* Effect.forkScoped(closeOnExpiry(connection, identity.expiresAt))
    }
  })

  // Each link closes in its own fiber: a link with a join in progress takes its time.
  const closeRevoked = Effect.sync(() => {
    for (const connection of connections.all()) {
      if (connection.closing || authenticator.isStillValid(connection.identity)) continue
      connection.closing = true
      run(closeConnection(connection, "revoked"))
    }
  })
  yield* Stream.runForEach(authenticator.changes, () => closeRevoked).pipe(
    Effect.catchCause((cause) => Effect.logError("credential change watch failed", cause)),
    Effect.forkScoped({ startImmediately: true })
  )

  return { admit, enforceValidity }
})
