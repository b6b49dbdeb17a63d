import type { IncomingMessage } from "node:http"
import { Clock, Deferred, Duration, Effect, Exit, Stream } from "effect"
import { Authenticator, checkCredentials } from "../../application/ports/Authenticator.ts"
import { secureRandomBytes } from "../../application/shared/secureRandom.ts"
import type { Identity } from "../../domain/model/Identity.ts"
import { sha256 } from "../auth/secrets.ts"
import { crossOriginOf } from "../http/hostAccess.ts"

/** Browsers share cookies among all ports of a host. */
const cookieName = ({ socket }: IncomingMessage): string => `a2c_page_${socket.localPort ?? 0}`

/** The id of the session that a request states. */
export const readSessionCookie = (request: IncomingMessage): string | undefined => {
  const prefix = `${cookieName(request)}=`
  const cookies = (request.headers.cookie ?? "").split(";").map((cookie) => cookie.trim())
  return cookies.find((cookie) => cookie.startsWith(prefix))?.slice(prefix.length)
}

/** A proxy may terminate TLS: then the page has an origin with https. */
const isSecure = ({ headers, socket }: IncomingMessage): boolean =>
  "encrypted" in socket || (headers.origin !== undefined && crossOriginOf(headers, ["https"]) === undefined)

/** The header that sets the cookie for some seconds; 0 removes it. */
export const sessionCookie = (request: IncomingMessage, id: string, maxAgeSeconds: number) => ({
  "Set-Cookie": [
    `${cookieName(request)}=${id}`,
    "Path=/office",
    `Max-Age=${maxAgeSeconds}`,
    "HttpOnly",
    "SameSite=Strict",
    ...(isSecure(request) ? ["Secure"] : [])
  ].join("; ")
})

/** Sessions of one Server at a time. */
export const maxSessions = 100

/** How long a session lasts, unless its credentials end before. */
export const sessionLifetime = Duration.hours(12)

/** Interval of the check of all credentials, and so the longest time that expired ones are accepted. */
const checkInterval = Duration.seconds(1)

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

export type PageSessions = Effect.Success<typeof makePageSessions>

/** Holds the sessions of the page. They end with their credentials, after their lifetime, or when there are too many. */
export const makePageSessions = Effect.gen(function* () {
  const authenticator = yield* Authenticator
  const clock = yield* Clock.Clock
  /** Least recently used first. */
  const sessions = new Map<string, SignedIn>()
  const lifetime = Duration.toMillis(sessionLifetime)

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
    const id = makeSecret()
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

  const endInvalid = Effect.sync(() => {
    for (const [key, session] of sessions) if (!isValid(session)) end(key, session)
  })
  yield* Stream.runForEach(authenticator.changes, () => endInvalid).pipe(
    Effect.catchCause((cause) => Effect.logError("credential change watch failed", cause)),
    Effect.forkScoped({ startImmediately: true })
  )
  yield* Effect.sleep(checkInterval).pipe(
    Effect.andThen(endInvalid),
    Effect.catchCause((cause) => Effect.logError("credential check failed", cause)),
    Effect.forever,
    Effect.forkScoped
  )

  return { find, create, remove }
})
