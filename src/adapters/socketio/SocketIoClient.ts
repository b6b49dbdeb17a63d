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
import { defaultPath, envelopeBytes, namespace } from "./limits.ts"
import { decoderFor, Encoder } from "./parser.ts"
import { makeSocketLink } from "./SocketLink.ts"

/** What a member may set about its connection. */
export interface SocketIoClientOptions {
  /** Where the Server is: `http://host:port`, with a path where it is not the usual `/smcp`. */
  readonly url: string
  /** The first one is tried first. Polling first, so that a refusal can be read (spec §2.4). */
  readonly transports?: ReadonlyArray<"polling" | "websocket">
  /** What a deployment's authentication asks for, beside the role. */
  readonly auth?: JsonObject
  /** Headers of every request, for deployments that authenticate by them; browsers cannot send any on WebSocket. */
  readonly headers?: { readonly [name: string]: string }
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
  if (status === 404) return new AdmissionRefused({ code, message: `No A2C-SMCP server is at ${url}` })
  return status >= 400 && status < 500
    ? new AdmissionRefused({ code, message: message || `The server answered with HTTP ${status}` })
    : unreachable(url, `the server answered with HTTP ${status}`)
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
    readonly statusText?: string
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
    catch: () => unreachable(url, "that is no http or https URL")
  })

/** Asks once over plain HTTP why a WebSocket was refused: its error carries no body (spec §2.4). */
const probe = (url: string, version: string): Effect.Effect<ConnectFailed> => {
  const query = new URLSearchParams({ EIO: "4", transport: "polling", [versionParameter]: version })
  return placeOf(url).pipe(
    Effect.flatMap(({ origin, path }) =>
      Effect.tryPromise(async (signal) => {
        const response = await fetch(`${origin.replace(/^ws/, "http")}${path}/?${query.toString()}`, {
          signal
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

const explainError = (url: string, version: string, error: RawConnectError): Effect.Effect<ConnectFailed> => {
  const { context, data, description, message } = error
  if (isJsonObject(data) && typeof data["code"] === "number") {
    const said = typeof data["message"] === "string" ? data["message"] : message
    return Effect.succeed(new AdmissionRefused({ code: data["code"], message: said }))
  }
  const status = typeof description === "number" ? description : (context?.status ?? 0)
  if (status >= 400) return Effect.succeed(refusalOf(url, status, context?.responseText ?? ""))
  if (message === "websocket error") return probe(url, version)
  if (message === "Invalid namespace") {
    return Effect.succeed(new AdmissionRefused({ code: 404, message: `${url} is no A2C-SMCP server` }))
  }
  const why = message === "xhr poll error" ? "connection refused or lost" : message
  return Effect.succeed(unreachable(url, why))
}

/** A socket that connects when told to, and is closed with the scope. */
const open = Effect.fnUntraced(function* (
  options: SocketIoClientOptions,
  request: Parameters<TransportClient["Service"]["connect"]>[0]
): Effect.fn.Return<Socket, Unreachable, Scope.Scope> {
  const { origin, path } = yield* placeOf(options.url)
  return yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${origin}${namespace}`, {
        path,
        parser: { Encoder, Decoder: decoderFor(Number.POSITIVE_INFINITY) },
        query: { [versionParameter]: request.version },
        auth: { ...options.auth, ...request.auth },
        transports: [...(options.transports ?? ["polling", "websocket"])],
        reconnection: false,
        autoConnect: false,
        forceNew: true,
        ...(options.headers !== undefined && { extraHeaders: { ...options.headers } })
      })
    ),
    (socket) => Effect.sync(() => socket.disconnect())
  )
})

/** Connects and waits for the Server's word; never tries twice. */
const connected = (socket: Socket, limit: { bytes: number }, url: string, version: string) =>
  Effect.callback<void, RawConnectError>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.fail(error)))
    socket.connect()
    socket.io.engine.once("handshake", ({ maxPayload }: { readonly maxPayload?: number }) => {
      limit.bytes = (maxPayload ?? assumedMaxBytes) - envelopeBytes
    })
  }).pipe(
    Effect.catch((error) =>
      Effect.flatMap(explainError(url, version, error), (failure) => Effect.fail(failure))
    )
  )

const connect = Effect.fnUntraced(function* (
  options: SocketIoClientOptions,
  request: Parameters<TransportClient["Service"]["connect"]>[0]
): Effect.fn.Return<Link, ConnectFailed, Scope.Scope> {
  const { connectTimeout = Duration.seconds(20), url } = options
  const socket = yield* open(options, request)
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
  yield* connected(socket, limit, url, request.version).pipe(
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
