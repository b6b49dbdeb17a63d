import type { IncomingMessage } from "node:http"
import { Clock, Deferred, Duration, Effect, Exit, Schema } from "effect"
import * as Cookies from "effect/http/Cookies"
import { Authenticator, checkCredentials, watchCredentials } from "../../application/ports/Authenticator.ts"
import { secureRandomBytes } from "../../application/shared/secureRandom.ts"
import type { Identity } from "../../domain/model/Identity.ts"
import { sha256 } from "../auth/secrets.ts"
import { crossOriginOf } from "../http/hostAccess.ts"
import { makeAuthThrottle } from "../../application/shared/AuthThrottle.ts"
import { errorCodes, unauthorized } from "../../domain/model/ProtocolError.ts"
import { checkJoinRights } from "../../domain/office/grants.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { PageSession } from "../../domain/page/PageCommand.ts"
import { officePagePath } from "../../domain/page/route.ts"
import { makeDecoder } from "../../domain/validation.ts"
import type { HttpReply } from "../http/messages.ts"
import { type OperatorAccess, remoteAddressOf } from "../http/operatorAccess.ts"
import { SharedPort } from "../http/SharedPort.ts"
import type { AppSandbox } from "./appSandbox.ts"
import { pageErrorReply, pageJsonReply, readJsonBody } from "./requestChecks.ts"
import { operatorNameOf, type PageSource } from "../../application/shared/page/PageSource.ts"

/** Browsers share cookies among all ports of a host. */
const cookieName = ({ socket }: IncomingMessage): string => `a2c_page_${socket.localPort ?? 0}`

/** The id of the session that a request states. */
export const readSessionCookie = (request: IncomingMessage): string | undefined =>
  Cookies.parseHeader(request.headers.cookie ?? "")[cookieName(request)]

/** A proxy may terminate TLS: then the page has an origin with https. */
const isSecure = ({ headers, socket }: IncomingMessage): boolean =>
  "encrypted" in socket || (headers.origin !== undefined && crossOriginOf(headers, ["https"]) === undefined)

/** The header that sets the cookie for a time; none removes it. */
const sessionCookie = (request: IncomingMessage, id: string, maxAge: Duration.Duration) => {
  const options = {
    path: officePagePath,
    maxAge,
    httpOnly: true,
    secure: isSecure(request),
    sameSite: "strict"
  } as const
  return { "Set-Cookie": Cookies.serializeCookie(Cookies.makeCookieUnsafe(cookieName(request), id, options)) }
}

/** Sessions of one Server at a time. */
export const maxSessions = 100

/** How long a session lasts, unless its credentials end before. */
const sessionLifetime = Duration.hours(12)

/** A browser that has signed in. */
export interface SignedIn {
  readonly identity: Identity
  /** The token that requests other than GET carry. */
  readonly csrf: string
  /** Milliseconds of the epoch. */
  readonly createdAt: number
  /** Completes when the session ends. */
  readonly ended: Deferred.Deferred<void>
  /** Commands, calls and streams in progress. */
  requests: number
}

/** A secret of 256 bits. */
const makeSecret = (): string => Buffer.from(secureRandomBytes(32)).toString("base64url")

/** The hashes of ids are the keys: the duration of a lookup tells nothing about an id. */
const keyOf = (id: string): string => sha256(id).toString("base64")

type PageSessions = Effect.Success<typeof makePageSessions>

/** Holds the sessions of the page. They end with their credentials, after their lifetime, or when there are too many. */
export const makePageSessions = Effect.gen(function* () {
  const authenticator = yield* Authenticator
  const clock = yield* Clock.Clock
  /** Least recently used first. */
  const sessions = new Map<string, SignedIn>()
  const lifetime = Duration.toMillis(sessionLifetime)
  const { sessionPrefix = "" } = (yield* SharedPort) ?? {}

  const end = (key: string, session: SignedIn): void => {
    sessions.delete(key)
    Deferred.doneUnsafe(session.ended, Exit.void)
  }

  const isValid = ({ createdAt, identity }: SignedIn): boolean => {
    const now = clock.currentTimeMillisUnsafe()
    return now < createdAt + lifetime && checkCredentials(authenticator, identity, now) === undefined
  }

  /** The valid session with an id. */
  const find = (id: string | undefined): SignedIn | undefined => {
    const key = keyOf(id ?? "")
    const session = sessions.get(key)
    if (session === undefined) return undefined
    if (!isValid(session)) return end(key, session) as undefined
    sessions.delete(key)
    sessions.set(key, session)
    return session
  }

  /** Ends the session with an id. */
  const remove = (id: string | undefined): void => {
    const key = keyOf(id ?? "")
    const session = sessions.get(key)
    if (session !== undefined) end(key, session)
  }

  /** Starts a session. Too many end the least recently used one, of those without a request in progress if possible. */
  const create = (identity: Identity) => {
    const used = sessions.size < maxSessions ? [] : [...sessions]
    const oldest = used.find(([, { requests }]) => requests === 0) ?? used[0]
    if (oldest !== undefined) end(...oldest)
    const id = sessionPrefix + makeSecret()
    const session: SignedIn = {
      identity,
      csrf: makeSecret(),
      createdAt: clock.currentTimeMillisUnsafe(),
      ended: Deferred.makeUnsafe(),
      requests: 0
    }
    sessions.set(keyOf(id), session)
    return { id, session }
  }

  yield* watchCredentials(authenticator, () => {
    for (const [key, session] of sessions) if (!isValid(session)) end(key, session)
  })

  return { find, create, remove }
})

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
    return sessionReply(request, session, sessionCookie(request, id, sessionLifetime))
  }

  /** Without authentication the first request starts a session: commands need its token. */
  const fetchSession = Effect.fnUntraced(function* (request: IncomingMessage) {
    const session = sessions.find(readSessionCookie(request))
    if (session !== undefined) return sessionReply(request, session)
    if (access.requiresCredentials) return yield* unauthorized("Sign in with the key of an operator")
    return startSession(request, yield* access.authenticate(request, { auth: {}, headers: request.headers }))
  })

  const signIn = Effect.fnUntraced(function* (request: IncomingMessage) {
    const peer = remoteAddressOf(request)
    if (throttle.isBlocked(peer, yield* Clock.currentTimeMillis) || !throttle.acquirePending(peer)) {
      access.observeRejection(request, errorCodes.tooManyRequests, "too many failed sign-ins")
      const message = "Too many failed sign-ins: try again in a minute"
      return pageErrorReply(errorCodes.tooManyRequests, message, { "Retry-After": blockedSeconds })
    }
    yield* Effect.addFinalizer(() => Effect.sync(() => throttle.releasePending(peer)))
    const { token } = yield* readJsonBody(request, decodeSignIn, maxSignInBytes)
    const credentials = { auth: { token }, headers: { ...request.headers, authorization: `Bearer ${token}` } }
    const identity = yield* access.authenticate(request, credentials).pipe(
      Effect.tapError(({ code }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          if (code !== errorCodes.unavailable) throttle.recordRejection(peer, now)
        })
      )
    )
    return startSession(request, identity)
  })

  const signOut = (request: IncomingMessage): Effect.Effect<HttpReply> =>
    Effect.sync(() => {
      sessions.remove(readSessionCookie(request))
      return { status: 204, headers: sessionCookie(request, "", Duration.zero), body: "" }
    })

  return { fetchSession, signIn, signOut }
}
