import { Clock, Duration, Effect, FiberSet, Option, Result, Schema, type Scope, Stream } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { checkConnectRights } from "../../../domain/office/grants.ts"
import type { Identity } from "../../../domain/model/Identity.ts"
import { Role } from "../../../domain/model/Role.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { Authenticator, resolveIdentity, admissionRejected } from "../../ports/Authenticator.ts"
import { AdmissionRejected, type Handshake } from "../../ports/Transport.ts"
import { type Connection, Connections, unauthenticated } from "../connections/Connections.ts"
import { ServerSettings } from "../lifecycle/ServerSettings.ts"

/** How long an authenticator may take: shorter than any member waits for its connection. */
const authenticationTimeout = Duration.seconds(15)

/** An expiry is looked at anew this often, so that a clock that was set, or a machine that slept, is noticed. */
const expiryCheckInterval = Duration.toMillis(Duration.hours(1))

const isRole = Schema.is(Role)

/** The role a connection states, if it states one; what it states must be a role (spec §2.5). */
const parseDeclaredRole = (
  auth: unknown,
  required: boolean
): Result.Result<Option.Option<Role>, AdmissionRejected> => {
  const declared = isJsonObject(auth) ? auth["role"] : auth
  if (isRole(declared) && isJsonObject(auth)) return Result.succeed(Option.some(declared))
  if ((declared === undefined || auth === null) && !required) return Result.succeed(Option.none())
  return Result.fail(
    new AdmissionRejected({
      code: errorCodes.badRequest,
      message: 'auth.role must be "agent" or "computer"'
    })
  )
}

/** Who is let in, and for how long. */
export interface Admission {
  /** Who somebody is and the role it states, or why it may not connect. */
  readonly admit: (
    handshake: Handshake
  ) => Effect.Effect<{ readonly identity: Identity; readonly role: Option.Option<Role> }, AdmissionRejected>
  /**
   * Watches over a connection that is among the {@link Connections}, as long as the scope: closes it when its identity
   * expires. Fails when that was revoked while it came in.
   */
  readonly enforceValidity: (connection: Connection) => Effect.Effect<void, AdmissionRejected, Scope.Scope>
}

/** Lets in whom the {@link Authenticator} knows, and closes the connections of whom it does not know any more. */
export const makeAdmission: Effect.Effect<Admission, never, Connections | Scope.Scope> = Effect.gen(
  function* () {
    const authenticator = yield* Authenticator
    const connections = yield* Connections
    const settings = yield* ServerSettings
    const run = yield* FiberSet.makeRuntime<never>()

    const admit = Effect.fnUntraced(function* (handshake: Handshake) {
      const identity = yield* resolveIdentity(authenticator, handshake).pipe(
        Effect.timeoutOrElse({
          duration: authenticationTimeout,
          orElse: () =>
            Effect.fail(admissionRejected("unavailable", "Credentials cannot be checked right now"))
        })
      )
      const role = yield* Effect.fromResult(parseDeclaredRole(handshake.auth, settings.requireRole))
      const denial = checkConnectRights(identity, role)
      if (denial !== undefined) return yield* admissionRejected("role_not_granted", denial)
      return { identity, role }
    })

    const closeConnection = ({ identity: { subject }, link }: Connection, reason: string) =>
      Effect.andThen(
        Effect.logInfo("connection ended", { sid: link.id, subject, reason }),
        link.close(reason)
      )

    const closeOnExpiry = Effect.fnUntraced(function* (connection: Connection, expiresAt: number) {
      let now = yield* Clock.currentTimeMillis
      while (now < expiresAt) {
        yield* Effect.sleep(Math.min(expiresAt - now, expiryCheckInterval))
        now = yield* Clock.currentTimeMillis
      }
      yield* closeConnection(connection, "credentials expired")
    })

    const enforceValidity = Effect.fnUntraced(function* (connection: Connection) {
      const { identity } = connection
      // What changed before the connection was among the others has passed it by.
      if (!authenticator.isStillValid(identity)) {
        return yield* admissionRejected("invalid_credentials", "The credentials are not valid any more")
      }
      if (identity.expiresAt !== undefined) {
        yield* Effect.forkScoped(closeOnExpiry(connection, identity.expiresAt))
      }
    })

    /** A link takes its time to close while a join is under way: nobody else stays for that. */
    const closeRevoked = Effect.sync(() => {
      for (const connection of connections.all()) {
        const { closing, identity } = connection
        if (closing || identity === unauthenticated || authenticator.isStillValid(identity)) continue
        connection.closing = true
        run(closeConnection(connection, "credentials revoked"))
      }
    })
    yield* Stream.runForEach(authenticator.changes, () => closeRevoked).pipe(
      Effect.catchCause((cause) => Effect.logError("credentials are not watched any more", cause)),
      Effect.forkScoped({ startImmediately: true })
    )

    return { admit, enforceValidity }
  }
)
