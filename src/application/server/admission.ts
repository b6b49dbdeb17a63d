import { Clock, Duration, Effect, FiberSet, Option, Result, Schema, type Scope, Stream } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { mayConnect } from "../../domain/office/grants.ts"
import type { Identity } from "../../domain/office/identity.ts"
import { Role } from "../../domain/protocol/v0_2/office.ts"
import { codes } from "../../domain/refusal.ts"
import { Authenticator, identify, refusedFor } from "../ports/Authenticator.ts"
import { AdmissionRefused, type Handshake } from "../ports/Transport.ts"
import { type Connection, Connections, nobody } from "./Connections.ts"
import { ServerSettings } from "./ServerSettings.ts"

/** How long an authenticator may take: shorter than any member waits for its connection. */
const patience = Duration.seconds(15)

/** An expiry is looked at anew this often, so that a clock that was set, or a machine that slept, is noticed. */
const longestWait = Duration.toMillis(Duration.hours(1))

const isRole = Schema.is(Role)

/** The role a connection states, if it states one; what it states must be a role (spec §2.5). */
const statedRole = (
  auth: unknown,
  required: boolean
): Result.Result<Option.Option<Role>, AdmissionRefused> => {
  const given = isJsonObject(auth) ? auth["role"] : auth
  if (isRole(given) && isJsonObject(auth)) return Result.succeed(Option.some(given))
  if ((given === undefined || auth === null) && !required) return Result.succeed(Option.none())
  return Result.fail(
    new AdmissionRefused({
      code: codes.badRequest,
      message: 'auth.role must be "agent" or "computer"'
    })
  )
}

/** Who is let in, and for how long. */
export interface Admission {
  /** Who somebody is and the role it states, or why it may not connect. */
  readonly admit: (
    handshake: Handshake
  ) => Effect.Effect<{ readonly identity: Identity; readonly role: Option.Option<Role> }, AdmissionRefused>
  /**
   * Watches over a connection that is among the {@link Connections}, as long as the scope: closes it when its identity
   * expires. Fails when that was revoked while it came in.
   */
  readonly watch: (connection: Connection) => Effect.Effect<void, AdmissionRefused, Scope.Scope>
}

/** Lets in whom the {@link Authenticator} knows, and closes the connections of whom it does not know any more. */
export const makeAdmission: Effect.Effect<Admission, never, Connections | Scope.Scope> = Effect.gen(
  function* () {
    const authenticator = yield* Authenticator
    const connections = yield* Connections
    const settings = yield* ServerSettings
    const run = yield* FiberSet.makeRuntime<never>()

    const admit = Effect.fnUntraced(function* (handshake: Handshake) {
      const identity = yield* identify(authenticator, handshake).pipe(
        Effect.timeoutOrElse({
          duration: patience,
          orElse: () => Effect.fail(refusedFor("unavailable", "Credentials cannot be checked right now"))
        })
      )
      const role = yield* Effect.fromResult(statedRole(handshake.auth, settings.requireRole))
      const obstacle = mayConnect(identity, role)
      if (obstacle !== undefined) return yield* refusedFor("role_not_granted", obstacle)
      return { identity, role }
    })

    const end = ({ identity: { subject }, link }: Connection, why: string) =>
      Effect.andThen(
        Effect.logInfo("connection ended", { sid: link.id, subject, reason: why }),
        link.close(why)
      )

    const untilOver = Effect.fnUntraced(function* (connection: Connection, expiresAt: number) {
      let now = yield* Clock.currentTimeMillis
      while (now < expiresAt) {
        yield* Effect.sleep(Math.min(expiresAt - now, longestWait))
        now = yield* Clock.currentTimeMillis
      }
      yield* end(connection, "credentials expired")
    })

    const watch = Effect.fnUntraced(function* (connection: Connection) {
      const { identity } = connection
      // What changed before the connection was among the others has passed it by.
      if (!authenticator.welcome(identity)) {
        return yield* refusedFor("invalid_credentials", "The credentials are not valid any more")
      }
      if (identity.expiresAt !== undefined) {
        yield* Effect.forkScoped(untilOver(connection, identity.expiresAt))
      }
    })

    /** A link takes its time to close while a join is under way: nobody else stays for that. */
    const revoke = Effect.sync(() => {
      for (const connection of connections.all()) {
        const { dismissed, identity } = connection
        if (dismissed || identity === nobody || authenticator.welcome(identity)) continue
        connection.dismissed = true
        run(end(connection, "credentials revoked"))
      }
    })
    yield* Stream.runForEach(authenticator.changes, () => revoke).pipe(
      Effect.catchCause((cause) => Effect.logError("credentials are not watched any more", cause)),
      Effect.forkScoped({ startImmediately: true })
    )

    return { admit, watch }
  }
)
