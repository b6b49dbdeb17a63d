import { Duration, Effect, Layer, Option, Schema, type Scope } from "effect"
import { io, type Socket } from "socket.io-client"
import {
  AdmissionRefused,
  type ConnectFailed,
  type Link,
  TransportClient,
  Unreachable,
  VersionRefused
} from "../../application/ports/Transport.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { type VersionMismatch, versionParameter } from "../../domain/protocol/version.ts"
import { codes } from "../../domain/refusal.ts"
import { reasonOf } from "../bytes/networkReason.ts"
import { defaultPath, envelopeBytes, namespace } from "./limits.ts"
import { hearLongMessages, type PingedClient } from "./longMessages.ts"
import { decoderFor, Encoder } from "./parser.ts"
import { makeSocketLink } from "./SocketLink.ts"

/** What a Server knows a member by. One that has to be fetched may fail, and is asked for before every connection. */
export type Token = string | Effect.Effect<string, { readonly message: string }>

/** What a member may set about its connection. */
export interface SocketIoClientOptions {
  /** Where the Server is: `http://host:port`, with a path where it is not the usual `/smcp`. */
  readonly url: string
  /** The first one is tried first. Polling first, so that a refusal can be read (spec §2.4). */
  readonly transports?: ReadonlyArray<"polling" | "websocket">
  /** What the Server knows this member by: a text, or what gives one anew for every connection. */
  readonly token?: Token
  /** What a deployment's authentication asks for, beside the role and the token. */
  readonly auth?: JsonObject
  /** Headers of every request, for deployments that authenticate by them; browsers cannot send any on WebSocket. */
  readonly headers?: { readonly [name: string]: string }
  /** Certificates to trust instead of those of the platform, as PEM; browsers have their own ways. */
  readonly ca?: string
  /** How long opening the connection may take. */
  readonly connectTimeout?: Duration.Duration
}

/** What the server takes when it does not say. */
const assumedMaxBytes = 1_000_000

const MismatchBody = Schema.Struct({
  code: Schema.Literal(4008),
  message: Schema.String,
  server_version: Schema.String,
  client_version: Schema.String,
  min_supported: Schema.optionalKey(Schema.String),
  max_supported: Schema.optionalKey(Schema.String)
})
const readMismatch = Schema.decodeUnknownOption(MismatchBody)

/**
 * What Engine.IO answers, with 400, about a connection that it does not know: the Server was started anew, or a request
 * has reached another one. A new connection may fare better.
 */
const unknownConnection = 1

/** Statuses by which a proxy asks for patience: too slow, too early, too many requests. */
const passingStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** What the body of a refused handshake says; anything that is not the protocol's is an ordinary failure. */
const refusalOf = (url: string, status: number, text: string): ConnectFailed => {
  const body = parse(text)
  const mismatch = Option.getOrUndefined(readMismatch(body))
  if (mismatch !== undefined) {
    const { max_supported = "?", min_supported = "?" } = mismatch
    return versionRefused({ ...mismatch, max_supported, min_supported })
  }
  const code = isJsonObject(body) && typeof body["code"] === "number" ? body["code"] : status
  const message = isJsonObject(body) && typeof body["message"] === "string" ? body["message"] : ""
  if (status === 400 && code === unknownConnection) {
    return unreachable(url, "the server does not know the connection any more")
  }
  if (status === 404) return new AdmissionRefused({ code, message: `No A2C-SMCP server is at ${url}` })
  if (status < 400 || status >= 500) return unreachable(url, `the server answered with HTTP ${status}`)
  const passing = passingStatuses.has(status)
  return new AdmissionRefused({
    code,
    message: message || `The server answered with HTTP ${status}`,
    passing
  })
}

const versionRefused = (mismatch: VersionMismatch): VersionRefused =>
  new VersionRefused({
    message:
      `The server speaks A2C-SMCP ${mismatch.server_version}, this client ${mismatch.client_version}; ` +
      `it takes clients from ${mismatch.min_supported} to ${mismatch.max_supported}`,
    mismatch
  })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The parts of Socket.IO's connection errors that tell what happened, whichever transport raised them. */
interface RawConnectError extends Error {
  readonly data?: unknown
  readonly description?: unknown
  readonly context?: {
    readonly status?: number
    readonly responseText?: string
    /** What the network said where there was no answer; browsers do not tell. */
    readonly statusText?: unknown
  }
}

/** Where the Server is, taken apart: Socket.IO wants origin and path separately. */
const placeOf = (
  url: string
): Effect.Effect<{ readonly origin: string; readonly path: string }, Unreachable> =>
  Effect.try({
    try: () => {
      const { host, pathname, protocol } = new URL(url)
      if (!["http:", "https:", "ws:", "wss:"].includes(protocol)) throw new TypeError()
      return {
        origin: `${protocol}//${host}`,
        path: pathname === "/" ? defaultPath : pathname.replace(/\/$/, "")
      }
    },
    catch: () =>
      new Unreachable({ message: `Cannot reach ${url}: that is no http or https URL`, lasting: true })
  })

/** One attempt to connect: what was asked for, and the token of this time. */
interface Attempt {
  readonly options: SocketIoClientOptions
  readonly version: string
  readonly token: string | undefined
}

/** Asks once over plain HTTP why a WebSocket was refused: its error carries no body (spec §2.4). */
const probe = ({ options, token, version }: Attempt): Effect.Effect<ConnectFailed> => {
  const { url } = options
  const query = new URLSearchParams({ EIO: "4", transport: "polling", [versionParameter]: version })
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...options.headers }
  return placeOf(url).pipe(
    Effect.flatMap(({ origin, path }) =>
      Effect.tryPromise(async (signal) => {
        const response = await fetch(`${origin.replace(/^ws/, "http")}${path}/?${query.toString()}`, {
          signal,
          headers
        })
        return { status: response.status, text: await response.text() }
      })
    ),
    Effect.timeout("5 seconds"),
    Effect.match({
      onFailure: () => unreachable(url, "no answer"),
      onSuccess: ({ status, text }) =>
        status === 200 ? unreachable(url, "WebSocket refused") : refusalOf(url, status, text)
    })
  )
}

const unreachable = (url: string, why: string): Unreachable =>
  new Unreachable({ message: `Cannot reach ${url}: ${why}` })

/** What the Server said when it did not let the member in. */
const admissionRefusal = (
  { options }: Attempt,
  code: number,
  { message, reason }: { readonly message: string; readonly reason: unknown }
): AdmissionRefused => {
  const renews = Effect.isEffect(options.token)
  const isBroken = code === codes.unavailable || code === codes.internal
  return new AdmissionRefused({
    code,
    message,
    ...(typeof reason === "string" && { reason }),
    passing: isBroken || (renews && reason === "expired_credentials")
  })
}

const explainError = (attempt: Attempt, error: RawConnectError): Effect.Effect<ConnectFailed> => {
  const { context, data, description, message } = error
  const { url } = attempt.options
  if (isJsonObject(data) && typeof data["code"] === "number") {
    const said = typeof data["message"] === "string" ? data["message"] : message
    const { code, reason } = data
    return Effect.succeed(admissionRefusal(attempt, code, { message: said, reason }))
  }
  const status = typeof description === "number" ? description : (context?.status ?? 0)
  if (status >= 400) return Effect.succeed(refusalOf(url, status, context?.responseText ?? ""))
  if (message === "websocket error") return probe(attempt)
  if (message === "Invalid namespace") {
    return Effect.succeed(new AdmissionRefused({ code: 404, message: `${url} is no A2C-SMCP server` }))
  }
  const fault = context?.statusText
  if (fault instanceof Error) return Effect.succeed(unreachable(url, reasonOf(fault)))
  return Effect.succeed(
    unreachable(url, message === "xhr poll error" ? "connection refused or lost" : message)
  )
}

/** How long a Server may take to hear that a member goes. */
const partingTime = Duration.seconds(1)

/**
 * Closes a socket, and waits until the Server has been told: whoever ends its process before that, over polling or
 * while the connection changes to WebSocket, would keep its seat until the Server misses its signs of life.
 */
const part = (socket: Socket): Effect.Effect<void> =>
  Effect.interruptible(
    Effect.callback<void>((resume) => {
      const engine: Socket["io"]["engine"] | undefined = socket.io.engine
      const isGone = engine === undefined || engine.readyState === "closed"
      engine?.once("close", () => resume(Effect.void))
      socket.disconnect()
      if (isGone) resume(Effect.void)
    })
  ).pipe(Effect.timeoutOption(partingTime), Effect.asVoid)

/** A socket that connects when told to, and is closed with the scope. */
const open = Effect.fnUntraced(function* (
  { options, token, version }: Attempt,
  auth: JsonObject
): Effect.fn.Return<Socket, Unreachable, Scope.Scope> {
  const { origin, path } = yield* placeOf(options.url)
  return yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${origin}${namespace}`, {
        path,
        parser: { Encoder, Decoder: decoderFor(Number.POSITIVE_INFINITY) },
        query: { [versionParameter]: version },
        auth: { ...options.auth, ...auth, ...(token !== undefined && { token }) },
        transports: [...(options.transports ?? ["polling", "websocket"])],
        reconnection: false,
        autoConnect: false,
        forceNew: true,
        ...(options.ca !== undefined && { ca: options.ca }),
        ...(options.headers !== undefined && { extraHeaders: { ...options.headers } })
      })
    ),
    part
  )
})

/** Connects and waits for the Server's word; never tries twice. */
const connected = (socket: Socket, limit: { bytes: number }, attempt: Attempt) =>
  Effect.callback<void, RawConnectError>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.fail(error)))
    socket.connect()
    // Engine.IO keeps to itself what this needs.
    hearLongMessages(socket.io.engine as unknown as PingedClient)
    socket.io.engine.once("handshake", ({ maxPayload }: { readonly maxPayload?: number }) => {
      limit.bytes = (maxPayload ?? assumedMaxBytes) - envelopeBytes
    })
  }).pipe(
    Effect.catch((error) => Effect.flatMap(explainError(attempt, error), (failure) => Effect.fail(failure)))
  )

/** The token for the next connection. Without one there is nothing to try, but there may be one later. */
const currentToken = ({
  token,
  url
}: SocketIoClientOptions): Effect.Effect<string | undefined, Unreachable> =>
  Effect.isEffect(token)
    ? Effect.mapError(token, ({ message }) => new Unreachable({ message: `No token for ${url}: ${message}` }))
    : Effect.succeed(token)

/** A URL without user and password: they are not sent to a Server, and errors are logged. */
const bare = (url: string): string => url.replace(/\/\/[^/?#]*@/, "//")

const connect = Effect.fnUntraced(function* (
  given: SocketIoClientOptions,
  request: Parameters<TransportClient["Service"]["connect"]>[0]
): Effect.fn.Return<Link, ConnectFailed, Scope.Scope> {
  const options = { ...given, url: bare(given.url) }
  const { connectTimeout = Duration.seconds(20), url } = options
  const token = yield* currentToken(options).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout,
      orElse: () => Effect.fail(unreachable(url, "no token comes"))
    })
  )
  const attempt = { options, token, version: request.version }
  const socket = yield* open(attempt, request.auth)
  const limit = { bytes: assumedMaxBytes }
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const {
    link,
    lose,
    open: receiveWith
  } = yield* makeSocketLink(
    "",
    socket,
    () => limit.bytes,
    () => 0
  )
  yield* Effect.addFinalizer(() => lose("closed by the member"))
  socket.on("disconnect", (reason) => void run(lose(reason)))
  receiveWith(request.receive)
  yield* connected(socket, limit, attempt).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout,
      orElse: () => Effect.fail(unreachable(url, "it does not answer"))
    }),
    Effect.tapError(() => Effect.sync(() => socket.disconnect()))
  )
  return { ...link, id: socket.id ?? "" }
})

/** Connects to a Server over Socket.IO. Runs in Node and in browsers. */
export const layer = (options: SocketIoClientOptions): Layer.Layer<TransportClient> =>
  Layer.succeed(TransportClient, TransportClient.of({ connect: (request) => connect(options, request) }))
