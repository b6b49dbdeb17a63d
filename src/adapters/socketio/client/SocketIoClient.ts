import { Duration, Effect, Layer, Option, Schema, type Scope } from "effect"
import { io, type Socket } from "socket.io-client"
import {
  AdmissionRejected,
  type ConnectError,
  type Link,
  TransportClient,
  Unreachable,
  VersionRejected
} from "../../../application/ports/Transport.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { type VersionMismatch, versionQueryParameter } from "../../../domain/wire/version.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { formatNetworkError } from "../../bytes/formatNetworkError.ts"
import { defaultPath, maxEnvelopeBytes, namespace } from "../limits.ts"
import { extendKeepaliveOnData, type ClientEngineInternals } from "./keepalive.ts"
import { makeDecoderClass, Encoder } from "../parser.ts"
import { makeSocketIoLink } from "../SocketIoLink.ts"

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
const defaultServerMaxBytes = 1_000_000

const VersionMismatchBody = Schema.Struct({
  code: Schema.Literal(4008),
  message: Schema.String,
  server_version: Schema.String,
  client_version: Schema.String,
  min_supported: Schema.optionalKey(Schema.String),
  max_supported: Schema.optionalKey(Schema.String)
})
const decodeVersionMismatch = Schema.decodeUnknownOption(VersionMismatchBody)

/**
 * What Engine.IO answers, with 400, about a connection that it does not know: the Server was started anew, or a request
 * has reached another one. A new connection may fare better.
 */
const unknownSessionCode = 1

/** Statuses by which a proxy asks for patience: too slow, too early, too many requests. */
const retryableStatuses: ReadonlySet<number> = new Set([408, 425, 429])

/** What the body of a refused handshake says; anything that is not the protocol's is an ordinary failure. */
const errorFromResponse = (url: string, status: number, text: string): ConnectError => {
  const body = parseJson(text)
  const mismatch = Option.getOrUndefined(decodeVersionMismatch(body))
  if (mismatch !== undefined) {
    const { max_supported = "?", min_supported = "?" } = mismatch
    return makeVersionError({ ...mismatch, max_supported, min_supported })
  }
  const code = isJsonObject(body) && typeof body["code"] === "number" ? body["code"] : status
  const message = isJsonObject(body) && typeof body["message"] === "string" ? body["message"] : ""
  if (status === 400 && code === unknownSessionCode) {
    return makeUnreachable(url, "the server does not know the connection any more")
  }
  if (status === 404) return new AdmissionRejected({ code, message: `No A2C-SMCP server is at ${url}` })
  if (status < 400 || status >= 500) return makeUnreachable(url, `the server answered with HTTP ${status}`)
  const retryable = retryableStatuses.has(status)
  return new AdmissionRejected({
    code,
    message: message || `The server answered with HTTP ${status}`,
    retryable
  })
}

const makeVersionError = (mismatch: VersionMismatch): VersionRejected =>
  new VersionRejected({
    message:
      `The server speaks A2C-SMCP ${mismatch.server_version}, this client ${mismatch.client_version}; ` +
      `it takes clients from ${mismatch.min_supported} to ${mismatch.max_supported}`,
    mismatch
  })

const parseJson = (text: string): unknown => {
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
const parseServerUrl = (
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
      new Unreachable({ message: `Cannot reach ${url}: that is no http or https URL`, permanent: true })
  })

/** One attempt to connect: what was asked for, and the token of this time. */
interface ConnectAttempt {
  readonly options: SocketIoClientOptions
  readonly version: string
  readonly token: string | undefined
}

/** Asks once over plain HTTP why a WebSocket was refused: its error carries no body (spec §2.4). */
const probeRejection = ({ options, token, version }: ConnectAttempt): Effect.Effect<ConnectError> => {
  const { url } = options
  const query = new URLSearchParams({ EIO: "4", transport: "polling", [versionQueryParameter]: version })
  const headers = { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...options.headers }
  return parseServerUrl(url).pipe(
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
      onFailure: () => makeUnreachable(url, "no answer"),
      onSuccess: ({ status, text }) =>
        status === 200 ? makeUnreachable(url, "WebSocket refused") : errorFromResponse(url, status, text)
    })
  )
}

const makeUnreachable = (url: string, reason: string): Unreachable =>
  new Unreachable({ message: `Cannot reach ${url}: ${reason}` })

/** What the Server said when it did not let the member in. */
const makeAdmissionError = (
  { options }: ConnectAttempt,
  code: number,
  { message, reason }: { readonly message: string; readonly reason: unknown }
): AdmissionRejected => {
  const isRenewable = Effect.isEffect(options.token)
  const isBroken = code === errorCodes.unavailable || code === errorCodes.internalError
  return new AdmissionRejected({
    code,
    message,
    ...(typeof reason === "string" && { reason }),
    retryable: isBroken || (isRenewable && reason === "expired_credentials")
  })
}

const toConnectError = (attempt: ConnectAttempt, error: RawConnectError): Effect.Effect<ConnectError> => {
  const { context, data, description, message } = error
  const { url } = attempt.options
  if (isJsonObject(data) && typeof data["code"] === "number") {
    const text = typeof data["message"] === "string" ? data["message"] : message
    const { code, reason } = data
    return Effect.succeed(makeAdmissionError(attempt, code, { message: text, reason }))
  }
  const status = typeof description === "number" ? description : (context?.status ?? 0)
  if (status >= 400) return Effect.succeed(errorFromResponse(url, status, context?.responseText ?? ""))
  if (message === "websocket error") return probeRejection(attempt)
  if (message === "Invalid namespace") {
    return Effect.succeed(new AdmissionRejected({ code: 404, message: `${url} is no A2C-SMCP server` }))
  }
  const networkError = context?.statusText
  if (networkError instanceof Error)
    return Effect.succeed(makeUnreachable(url, formatNetworkError(networkError)))
  return Effect.succeed(
    makeUnreachable(url, message === "xhr poll error" ? "connection refused or lost" : message)
  )
}

/** How long a Server may take to hear that a member goes. */
const disconnectTimeout = Duration.seconds(1)

/**
 * Closes a socket, and waits until the Server has been told: whoever ends its process before that, over polling or
 * while the connection changes to WebSocket, would keep its seat until the Server misses its signs of life.
 */
const disconnect = (socket: Socket): Effect.Effect<void> =>
  Effect.interruptible(
    Effect.callback<void>((resume) => {
      const engine: Socket["io"]["engine"] | undefined = socket.io.engine
      const isClosed = engine === undefined || engine.readyState === "closed"
      engine?.once("close", () => resume(Effect.void))
      socket.disconnect()
      if (isClosed) resume(Effect.void)
    })
  ).pipe(Effect.timeoutOption(disconnectTimeout), Effect.asVoid)

/** A socket that connects when told to, and is closed with the scope. */
const openSocket = Effect.fnUntraced(function* (
  { options, token, version }: ConnectAttempt,
  auth: JsonObject
): Effect.fn.Return<Socket, Unreachable, Scope.Scope> {
  const { origin, path } = yield* parseServerUrl(options.url)
  return yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${origin}${namespace}`, {
        path,
        parser: { Encoder, Decoder: makeDecoderClass(Number.POSITIVE_INFINITY) },
        query: { [versionQueryParameter]: version },
        auth: { ...options.auth, ...auth, ...(token !== undefined && { token }) },
        transports: [...(options.transports ?? ["polling", "websocket"])],
        reconnection: false,
        autoConnect: false,
        forceNew: true,
        ...(options.ca !== undefined && { ca: options.ca }),
        ...(options.headers !== undefined && { extraHeaders: { ...options.headers } })
      })
    ),
    disconnect
  )
})

/** Connects and waits for the Server's word; never tries twice. */
const awaitConnected = (socket: Socket, limit: { bytes: number }, attempt: ConnectAttempt) =>
  Effect.callback<void, RawConnectError>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.fail(error)))
    socket.connect()
    // Engine.IO keeps to itself what this needs.
    extendKeepaliveOnData(socket.io.engine as unknown as ClientEngineInternals)
    socket.io.engine.once("handshake", ({ maxPayload }: { readonly maxPayload?: number }) => {
      limit.bytes = (maxPayload ?? defaultServerMaxBytes) - maxEnvelopeBytes
    })
  }).pipe(
    Effect.catch((error) => Effect.flatMap(toConnectError(attempt, error), (failure) => Effect.fail(failure)))
  )

/** The token for the next connection. Without one there is nothing to try, but there may be one later. */
const resolveToken = ({
  token,
  url
}: SocketIoClientOptions): Effect.Effect<string | undefined, Unreachable> =>
  Effect.isEffect(token)
    ? Effect.mapError(token, ({ message }) => new Unreachable({ message: `No token for ${url}: ${message}` }))
    : Effect.succeed(token)

/** A URL without user and password: they are not sent to a Server, and errors are logged. */
const stripCredentials = (url: string): string => url.replace(/\/\/[^/?#]*@/, "//")

const connect = Effect.fnUntraced(function* (
  given: SocketIoClientOptions,
  request: Parameters<TransportClient["Service"]["connect"]>[0]
): Effect.fn.Return<Link, ConnectError, Scope.Scope> {
  const options = { ...given, url: stripCredentials(given.url) }
  const { connectTimeout = Duration.seconds(20), url } = options
  const token = yield* resolveToken(options).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout,
      orElse: () => Effect.fail(makeUnreachable(url, "no token comes"))
    })
  )
  const attempt = { options, token, version: request.version }
  const socket = yield* openSocket(attempt, request.auth)
  const limit = { bytes: defaultServerMaxBytes }
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const { link, markClosed, startReceiving } = yield* makeSocketIoLink(
    "",
    socket,
    () => limit.bytes,
    () => 0
  )
  yield* Effect.addFinalizer(() => markClosed("closed by the member"))
  socket.on("disconnect", (reason) => void runFork(markClosed(reason)))
  startReceiving(request.onMessage)
  yield* awaitConnected(socket, limit, attempt).pipe(
    Effect.timeoutOrElse({
      duration: connectTimeout,
      orElse: () => Effect.fail(makeUnreachable(url, "it does not answer"))
    }),
    Effect.tapError(() => Effect.sync(() => socket.disconnect()))
  )
  return { ...link, id: socket.id ?? "" }
})

/** Connects to a Server over Socket.IO. Runs in Node and in browsers. */
export const layer = (options: SocketIoClientOptions): Layer.Layer<TransportClient> =>
  Layer.succeed(TransportClient, TransportClient.of({ connect: (request) => connect(options, request) }))
