import type { IncomingMessage } from "node:http"
import { Clock, Duration, Effect, Schema } from "effect"
import { makeAuthThrottle } from "../../application/shared/AuthThrottle.ts"
import type { Identity } from "../../domain/model/Identity.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { checkJoinRights } from "../../domain/office/grants.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { PageSession } from "../../domain/page/PageCommand.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { HttpReply } from "../http/messages.ts"
import { type OperatorAccess, remoteAddressOf } from "../http/operatorAccess.ts"
import type { AppSandbox } from "./appSandbox.ts"
import { pageErrorReply, pageJsonReply, readJsonBody } from "./requestChecks.ts"
import { type PageSessions, readSessionCookie, sessionCookie, sessionLifetime, type SignedIn } from "./PageSessions.ts"
import { operatorNameOf, type PageSource } from "../../application/shared/page/PageSource.ts"

/** Clients without a session can send this much. Credentials are shorter. */
const maxSignInBytes = 16 * 1024

const blockedSeconds = "60"

const decodeSignIn = makeDecoder(Schema.Struct({ token: Schema.String.check(Schema.isNonEmpty()) }))

/** True when an identity may join as the Agent of some office. A pattern of offices matches itself. */
const mayCall = (identity: Identity): boolean =>
  identity.grants.offices.some(
    (office) => checkJoinRights(identity, { office, role: "agent", name: operatorNameOf({ identity }) }) === undefined
  )

/** Makes the handlers of the session: fetch, sign in and sign out. */
export const makeSessionRoutes = (
  access: OperatorAccess,
  sessions: PageSessions,
  { hasBodies, office }: PageSource,
  sandbox: AppSandbox | undefined
) => {
  const throttle = makeAuthThrottle()

  const sessionReply = (
    request: IncomingMessage,
    { csrf, identity }: SignedIn,
    headers: Readonly<Record<string, string>> = {}
  ): HttpReply => {
    const session: PageSession = {
      subject: identity.subject,
      requiresSignIn: access.requiresCredentials,
      csrf,
      mayCall: mayCall(identity),
      hasBodies,
      ...definedOnly({ office, appOrigin: sandbox?.originFor(request.headers) })
    }
    return pageJsonReply(200, session, headers)
  }

  const startSession = (request: IncomingMessage, identity: Identity): HttpReply => {
    sessions.remove(readSessionCookie(request))
    const { id, session } = sessions.create(identity)
    return sessionReply(request, session, sessionCookie(request, id, Duration.toSeconds(sessionLifetime)))
  }

  /** Without authentication the first request starts a session: commands need its token. */
  const fetchSession = Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<HttpReply, HttpReply> {
    const session = sessions.find(readSessionCookie(request))
    if (session !== undefined) return sessionReply(request, session)
    if (access.requiresCredentials) return pageErrorReply(401, "Sign in with the key of an operator")
    const identity = yield* access
      .authenticate(request, { auth: {}, headers: request.headers })
      .pipe(Effect.mapError(({ message, status }) => pageErrorReply(status, message)))
    return startSession(request, identity)
  })

  const signInOnce = Effect.fnUntraced(function* (request: IncomingMessage, peer: string) {
    const { token } = yield* readJsonBody(request, decodeSignIn, maxSignInBytes)
    const credentials = { auth: { token }, headers: { ...request.headers, authorization: `Bearer ${token}` } }
    const identity = yield* access.authenticate(request, credentials).pipe(
      Effect.tapError(({ status }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (status !== errorCodes.unavailable) throttle.recordRejection(peer, now)
        })
      ),
      Effect.mapError(({ message, status }) => pageErrorReply(status, message))
    )
    return startSession(request, identity)
  })

  const signIn = Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<HttpReply, HttpReply> {
    const peer = remoteAddressOf(request)
    if (throttle.isBlocked(peer, yield* Clock.currentTimeMillis) || !throttle.acquirePending(peer)) {
      access.observeRejection(request, errorCodes.tooManyRequests, "too many failed sign-ins")
      const message = "Too many failed sign-ins: try again in a minute"
      return pageErrorReply(errorCodes.tooManyRequests, message, { "Retry-After": blockedSeconds })
    }
    return yield* Effect.ensuring(
      signInOnce(request, peer),
      Effect.sync(() => throttle.releasePending(peer))
    )
  })

  const signOut = (request: IncomingMessage): Effect.Effect<HttpReply> =>
    Effect.sync(() => {
      sessions.remove(readSessionCookie(request))
      return { status: 204, headers: sessionCookie(request, "", 0), body: "" }
    })

  return { fetchSession, signIn, signOut }
}
