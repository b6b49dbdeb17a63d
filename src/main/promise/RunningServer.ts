import { Effect, Layer, Record, Redacted, Stream } from "effect"
import { type MemberTokenOptions, signMemberToken } from "../../adapters/auth/Jwt.ts"
import { AuditLog } from "../../application/ports/AuditLog.ts"
import { maxConfigurableMessageBytes } from "../../adapters/socketio/limits.ts"
import { lineNames } from "../../domain/wire/lines.ts"
import type { RedisClusterOptions } from "../../adapters/redis/RedisCluster.ts"
import { Authenticator, admissionRejected } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import { Limits, ServerSettings } from "../../application/server/Limits.ts"
import { Server } from "../../application/server/lifecycle/Server.ts"
import { allGrants, type Identity } from "../../domain/model/Identity.ts"
import { type PageOptions, serverLayer, type ServerLayerOptions } from "../layers/serverLayer.ts"
import { A2cError } from "../A2cError.ts"
import { expectedListedOrigin, expectedPath, isSocketPath, parseListedOrigin } from "../config/webAddress.ts"
import {
  checkArguments,
  checkOptions,
  type ChecksOf,
  instance,
  integers,
  kindOf,
  arrayOf,
  notEmpty,
  oneOf,
  texts
} from "./checkArguments.ts"
import { durations, fromMillis, type InMillis } from "./durations.ts"
import { type Cancellable, type Closeable, type Log, startService } from "./RunningService.ts"

type AuthenticateClient = (
  handshake: Handshake,
  options: { readonly signal: AbortSignal }
) => boolean | Identity | Promise<boolean | Identity>

/** Options of a Server. */
export interface ServerOptions extends Omit<ServerLayerOptions, "limits" | "redis" | "settings"> {
  /**
   * Authenticates a connection: an identity with its grants, `true` for all grants, `false` or a rejection for 401.
   * `"allowAll"` admits every client with all rights, which suits loopback only.
   */
  readonly authenticate: AuthenticateClient | "allowAll"
  /** As in `ServerSettings`, times in milliseconds. */
  readonly settings?: InMillis<ServerSettings>
  /** Server limits, times in milliseconds; missing ones have their defaults. */
  readonly limits?: InMillis<Limits>
  /** Redis that shares the offices among Servers; without it the Server stands alone. */
  readonly redis?: Omit<RedisClusterOptions, "url"> & { readonly url: string }
  /** Receives the log; without it, warnings and errors go to stderr. */
  readonly log?: Log
}

/** A running Server. */
export interface RunningServer extends Closeable {
  /** The URL for members; empty for an HTTP server of the host that does not listen yet. */
  readonly url: string
  /** The current load; all zero when no member is connected. */
  readonly load: (options?: Cancellable) => Promise<ReturnType<Server["Service"]["load"]>>
}

const notAdmitted = admissionRejected("invalid_credentials", "Not admitted")

const admittedIdentity: Identity = {
  subject: "host-authenticated",
  isShared: true,
  grants: allGrants,
  expiresAt: undefined
}

const makeHookAuthenticator = (authenticate: AuthenticateClient): Authenticator["Service"] => ({
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

const serverOptions: ChecksOf<ServerOptions> = {
  allowedOrigins: arrayOf(
    texts(expectedListedOrigin, (text) => parseListedOrigin(text) === text),
    `an array, each item ${expectedListedOrigin}`
  ),
  authenticate: [kindOf('a function or "allowAll"', (value) => typeof value === "function" || value === "allowAll")],
  engine: oneOf("relay", "socket.io"),
  fallback: "function",
  host: "text",
  httpServer: instance("an HTTP server of Node", "address", "on", "emit"),
  io: instance("a Socket.IO server", "of", "path", "bind"),
  limits: Record.map(Limits.defaultValue(), () => "limit" as const),
  lines: notEmpty(arrayOf(oneOf(...lineNames))),
  log: "function",
  maxMessageBytes: integers(1024, maxConfigurableMessageBytes),
  namespace: "namespace",
  page: "page",
  paths: notEmpty(arrayOf(texts(expectedPath, isSocketPath)), `an array that is not empty, each item ${expectedPath}`),
  pingInterval: "interval",
  pingTimeout: "interval",
  port: "port",
  redis: { address: { host: ["text"], port: ["port"] }, prefix: "string", url: ["string"] },
  settings: { drainTimeout: "millis", requireRole: "boolean", routingTimeout: "limit", timeoutGrace: "millis" },
  tls: { cert: ["string"], key: ["string"], updates: "stream" },
  validate: "boolean",
  validateBytes: "count"
}

const pageOptions: ChecksOf<PageOptions> = {
  apps: { origin: "string", port: "port" },
  assets: "text",
  bodies: { maxBytes: "count" }
}

/** Runs a Server on Socket.IO; on loopback and a free port by default, or on a server of the host program. */
export const runServer = async (given: ServerOptions, cancellable?: Cancellable): Promise<RunningServer> => {
  checkArguments("runServer", [serverOptions], [given])
  if (typeof given.page === "object") checkOptions("runServer", pageOptions, given.page, "page.")
  if (given.httpServer !== undefined && given.io !== undefined) {
    throw new A2cError("config_invalid", "runServer: 'httpServer' and 'io' exclude each other")
  }
  const { authenticate, limits = {}, log, redis, settings = {}, ...options } = given
  const layer = serverLayer({
    ...options,
    limits: fromMillis(Limits.defaultValue(), limits),
    settings: fromMillis(ServerSettings.defaultValue(), settings),
    ...(redis !== undefined && { redis: { ...redis, url: Redacted.make(redis.url) } })
  }).pipe(
    Layer.provide(AuditLog.layerNone),
    Layer.provide(
      authenticate === "allowAll"
        ? Authenticator.layerAllowAll
        : Layer.succeed(Authenticator, makeHookAuthenticator(authenticate))
    )
  )
  const { close, run, [Symbol.asyncDispose]: dispose } = await startService(Server, layer, log, cancellable)
  const url = await run((server) => Effect.succeed(server.url))
  return { url, load: (given) => run(({ load }) => Effect.sync(load), given), close, [Symbol.asyncDispose]: dispose }
}

/** As for `Jwt.signMemberToken` with Effect; `ttl` in milliseconds. */
export interface SignTokenOptions extends Omit<MemberTokenOptions, "key" | "ttl"> {
  readonly key: string
  readonly ttl?: number
}

const tokenOptions: ChecksOf<SignTokenOptions> = {
  audience: "text",
  issuer: "text",
  key: ["text"],
  name: ["identifier"],
  office: ["identifier"],
  role: "role",
  subject: "text",
  ttl: "millis"
}

/** Signs a token by which one member may join, such as a page in a browser; `expiresAt` in milliseconds since 1970. */
export const promiseMemberToken = async (given: SignTokenOptions): Promise<{ token: string; expiresAt: number }> => {
  checkArguments("signMemberToken", [tokenOptions], [given])
  const { key, ttl, ...member } = given
  const signing = signMemberToken({ ...member, ...durations({ ttl }), key: Redacted.make(key) })
  return Effect.runPromise(Effect.mapError(signing, ({ message }) => new A2cError("config_invalid", message)))
}
