import { Duration, Effect, Redacted, Stream } from "effect"
import type { SocketIoServerOptions } from "../../adapters/socketio/SocketIoServer.ts"
import { type Authenticator, admissionRejected } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import type { Limits } from "../../application/server/connections/Limits.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import type { ServerSettings } from "../../application/server/lifecycle/ServerSettings.ts"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"
import { serverLayer } from "../layers/serverLayer.ts"
import { type Cancellable, type Closeable, startService } from "./RunningService.ts"
import type { Log } from "./Log.ts"

/** Where a Server listens, and whom it lets in. */
export interface ServerOptions extends SocketIoServerOptions {
  readonly settings?: {
    /** How long a Computer may take to answer a request that names no time of its own, in milliseconds. */
    readonly routingTimeout?: number
    /** What is added to the time a request names, in milliseconds. */
    readonly timeoutGrace?: number
    /** How long calls under way may take to end when the Server is closed, in milliseconds; 0 unless given. */
    readonly drainTimeout?: number
    /** Refuse connections that do not state their role. */
    readonly requireRole?: boolean
    /**
     * Decides who may connect: an identity may do what it is granted, `true` is somebody who may do everything;
     * `false`, and a rejection, is answered with 401.
     */
    readonly authenticate?: (
      handshake: Handshake,
      options: { readonly signal: AbortSignal }
    ) => boolean | Identity | Promise<boolean | Identity>
  }
  /** What strangers may use at most; times in milliseconds, what is left out is as usual. */
  readonly limits?: Partial<Omit<Limits, "joinTimeout" | "idleTimeout">> & {
    readonly joinTimeout?: number
    readonly idleTimeout?: number
  }
  /** The Redis by which it shares its offices with other Servers; without one they are its own. */
  readonly redis?: { readonly url: string; readonly prefix?: string }
  /** Takes the log; without it, what is a warning or worse goes to stderr. */
  readonly log?: Log
}

/** A Server that runs. */
export interface RunningServer extends Closeable {
  /** Where members connect. */
  readonly url: string
  /** How much the Server holds right now; all zero when everybody has gone. */
  readonly load: (options?: Cancellable) => Promise<ReturnType<Server["Service"]["load"]>>
}

type Settings = NonNullable<ServerOptions["settings"]>

const notAdmitted = admissionRejected("invalid_credentials", "Not admitted")

/** Who came in by the word of a hook alone. */
const admittedIdentity: Identity = { subject: "host-authenticated", grants: allGrants, expiresAt: undefined }

const makeHookAuthenticator = (
  authenticate: NonNullable<Settings["authenticate"]>
): Authenticator["Service"] => ({
  requiresCredentials: true,
  isStillValid: () => true,
  changes: Stream.never,
  authenticate: (handshake) =>
    Effect.tryPromise(async (signal) => authenticate(handshake, { signal })).pipe(
      Effect.tapError((error) => Effect.logError("authenticate failed", error.cause)),
      Effect.mapError(() => notAdmitted),
      Effect.flatMap((outcome) => {
        const identity = outcome === true ? admittedIdentity : outcome
        return identity ? Effect.succeed(identity) : Effect.fail(notAdmitted)
      })
    )
})

const toServerSettings = ({
  drainTimeout,
  timeoutGrace,
  requireRole,
  routingTimeout
}: Settings): Partial<ServerSettings> => ({
  ...(routingTimeout !== undefined && { routingTimeout: Duration.millis(routingTimeout) }),
  ...(timeoutGrace !== undefined && { timeoutGrace: Duration.millis(timeoutGrace) }),
  ...(drainTimeout !== undefined && { drainTimeout: Duration.millis(drainTimeout) }),
  ...(requireRole !== undefined && { requireRole })
})

const toLimits = ({
  idleTimeout,
  joinTimeout,
  ...counts
}: NonNullable<ServerOptions["limits"]>): Partial<Limits> => ({
  ...counts,
  ...(joinTimeout !== undefined && { joinTimeout: Duration.millis(joinTimeout) }),
  ...(idleTimeout !== undefined && { idleTimeout: Duration.millis(idleTimeout) })
})

/** Runs a Server on Socket.IO. Loopback and a free port unless told otherwise. */
export const runServer = async (
  { limits = {}, log, redis, settings = {}, ...options }: ServerOptions = {},
  cancellable?: Cancellable
): Promise<RunningServer> => {
  const { authenticate } = settings
  const layer = serverLayer({
    ...options,
    limits: toLimits(limits),
    settings: toServerSettings(settings),
    ...(redis !== undefined && { redis: { ...redis, url: Redacted.make(redis.url) } }),
    ...(authenticate !== undefined && { authenticator: makeHookAuthenticator(authenticate) })
  })
  const { close, run, [Symbol.asyncDispose]: dispose } = await startService(Server, layer, log, cancellable)
  const url = await run((server) => Effect.succeed(server.url))
  return {
    url,
    load: (given) => run(({ load }) => Effect.sync(load), given),
    close,
    [Symbol.asyncDispose]: dispose
  }
}
