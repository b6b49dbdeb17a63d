import { Duration, Effect } from "effect"
import type { SocketIoServerOptions } from "../adapters/socketio/SocketIoServer.ts"
import { AdmissionRefused, type Handshake } from "../application/ports/Transport.ts"
import type { Limits } from "../application/server/Limits.ts"
import { Server } from "../application/server/Server.ts"
import type { ServerSettings } from "../application/server/ServerSettings.ts"
import { codes } from "../domain/refusal.ts"
import { serverLayer } from "../main/layers.ts"
import { type Cancellable, type Closeable, start } from "./Host.ts"
import type { Log } from "./Log.ts"

/** Where a Server listens, and whom it lets in. */
export interface ServerOptions extends SocketIoServerOptions {
  readonly settings?: {
    /** How long a Computer may take to answer a request that names no time of its own, in milliseconds. */
    readonly routingTimeout?: number
    /** What is added to the time a request names, in milliseconds. */
    readonly grace?: number
    /** How long calls under way may take to end when the Server is closed, in milliseconds; 0 unless given. */
    readonly drainTime?: number
    /** Refuse connections that do not state their role. */
    readonly requireRole?: boolean
    /** Decides who may connect; `false`, and a rejection, is answered with 401. */
    readonly authenticate?: (
      handshake: Handshake,
      options: { readonly signal: AbortSignal }
    ) => boolean | Promise<boolean>
  }
  /** What strangers may use at most; times in milliseconds, what is left out is as usual. */
  readonly limits?: Partial<Omit<Limits, "joinTime" | "idleTime">> & {
    readonly joinTime?: number
    readonly idleTime?: number
  }
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

const notAdmitted = new AdmissionRefused({ code: codes.unauthorized, message: "Not admitted" })

const settingsOf = ({
  authenticate,
  drainTime,
  grace,
  requireRole,
  routingTimeout
}: NonNullable<ServerOptions["settings"]>): Partial<ServerSettings> => ({
  ...(routingTimeout !== undefined && { routingTimeout: Duration.millis(routingTimeout) }),
  ...(grace !== undefined && { grace: Duration.millis(grace) }),
  ...(drainTime !== undefined && { drainTime: Duration.millis(drainTime) }),
  ...(requireRole !== undefined && { requireRole }),
  ...(authenticate !== undefined && {
    authenticate: (handshake) =>
      Effect.tryPromise(async (signal) => authenticate(handshake, { signal })).pipe(
        Effect.tapError((error) => Effect.logError("authenticate failed", error.cause)),
        Effect.matchEffect({
          onFailure: () => Effect.fail(notAdmitted),
          onSuccess: (admits) => (admits ? Effect.void : Effect.fail(notAdmitted))
        })
      )
  })
})

const limitsOf = ({
  idleTime,
  joinTime,
  ...counts
}: NonNullable<ServerOptions["limits"]>): Partial<Limits> => ({
  ...counts,
  ...(joinTime !== undefined && { joinTime: Duration.millis(joinTime) }),
  ...(idleTime !== undefined && { idleTime: Duration.millis(idleTime) })
})

/** Runs a Server on Socket.IO. Loopback and a free port unless told otherwise. */
export const runServer = async (
  { limits = {}, log, settings = {}, ...options }: ServerOptions = {},
  cancellable?: Cancellable
): Promise<RunningServer> => {
  const layer = serverLayer({ ...options, limits: limitsOf(limits), settings: settingsOf(settings) })
  const { close, run, [Symbol.asyncDispose]: dispose } = await start(Server, layer, log, cancellable)
  const url = await run((server) => Effect.succeed(server.url))
  return {
    url,
    load: (given) => run(({ load }) => Effect.sync(load), given),
    close,
    [Symbol.asyncDispose]: dispose
  }
}
