import type { SecureContext } from "node:tls"
import { Duration, Effect, FiberSet, Layer, type Scope } from "effect"
import { io, type Socket } from "socket.io-client"
import { type ConnectError, type Link, TransportClient, Unreachable } from "../../../application/ports/Transport.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { withUserAgent } from "../../../domain/packageVersion.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { officeKeyOf, officeQueryParameter } from "../../../domain/office/officeKey.ts"
import { versionQueryParameter } from "../../../domain/wire/version.ts"
import { closeReasonCode } from "../closeReasons.ts"
import { defaultNamespace, maxEnvelopeBytes } from "../limits.ts"
import {
  type ConnectAttempt,
  makeUnreachable,
  earlyCloseError,
  notFoundReason,
  type RawConnectError,
  toConnectError,
  undecodableError,
  versionCloseError
} from "./connectErrors.ts"
import { closeWhenSilent, failOpeningTransport, rejectUnexpectedPackets } from "./checkPackets.ts"
import { makeParser } from "./parser.ts"
import { makeHttpAgent, makeSecureContext } from "./nodeAgent.ts"
import { displayUrl, parseServerUrl } from "./serverAddress.ts"
import { makeSocketIoLink } from "./SocketIoLink.ts"
import { makeTransportChoice, type TransportChooser } from "./transportChoice.ts"

/** A token, or an effect that resolves one before every connection. */
export type Token = string | Effect.Effect<string, { readonly message: string }>

export interface SocketIoClientOptions {
  /**
   * The Server's URL, `http://host:port`, with a path if it is not the default `/smcp`. Its query is part of every
   * request. Messages show neither the query nor a user and password.
   */
  readonly url: string
  /** Namespace of Socket.IO, `/smcp` by default. */
  readonly namespace?: string
  /**
   * In the order of attempts. By default polling comes first, because it works in every network and shows the reason of a
   * rejection (spec §2.4); a client that was connected over WebSocket reconnects over it.
   */
  readonly transports?: ReadonlyArray<"polling" | "websocket">
  readonly token?: Token
  /** Members of the `auth` value for the deployment's authentication, beside the role and the token. */
  readonly auth?: JsonObject
  /** Headers of every request. Browsers send none on WebSocket. */
  readonly headers?: { readonly [name: string]: string }
  /** Certificates of authorities to trust beside those of the platform, as PEM. Browsers ignore this. */
  readonly ca?: string
  /** Timeout of one attempt to connect; 20 seconds by default. */
  readonly connectTimeout?: Duration.Duration
}

/** Options of a client, and the Unix socket to connect to instead of the host of the URL. */
type ConnectOptions = SocketIoClientOptions & { readonly socketPath?: string }

const defaultConnectTimeout = Duration.seconds(20)

/** The size limit of a Server that announces none. */
const defaultServerMaxBytes = 1_000_000

/** Time for the Server to receive a disconnect. */
const disconnectTimeout = Duration.seconds(1)

/**
 * Closes a socket and waits until the disconnect is sent. A process that ends earlier, over polling or during an upgrade,
 * would stay a member until the Server's keepalive timeout.
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

/** Makes a socket that does not connect yet and closes with the scope. */
const openSocket = (
  options: SocketIoClientOptions,
  { transports, upgrade, fallbackAfter }: ReturnType<TransportChooser["next"]>,
  attempt: ConnectAttempt,
  auth: JsonObject
) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const namespace = options.namespace ?? defaultNamespace
      return io(`${attempt.origin}${namespace}`, {
        path: attempt.path,
        parser: makeParser(namespace),
        query: { ...attempt.query, [versionQueryParameter]: attempt.version },
        auth,
        transports: [...transports],
        upgrade,
        tryAllTransports: fallbackAfter !== undefined,
        reconnection: false,
        autoConnect: false,
        forceNew: true,
        // The types lack the agents of Node.
        ...(attempt.agent.http !== undefined && { agent: attempt.agent.http as unknown as boolean }),
        ...(attempt.headers !== undefined && { extraHeaders: { ...attempt.headers } })
      })
    }),
    disconnect
  )

/** Connects once and waits for the Server's reply. */
const awaitConnected = (
  socket: Socket,
  network: TransportChooser,
  limit: { bytes: number },
  attempt: ConnectAttempt,
  fallbackAfter: Duration.Duration | undefined,
  onStale: () => void
) =>
  Effect.callback<void, RawConnectError>((resume) => {
    const rememberTransport = () => network.onConnected(socket.io.engine.transport.name)
    let isAnswered = false
    socket.once("connect", () => {
      isAnswered = true
      rememberTransport()
      resume(Effect.void)
    })
    socket.once("connect_error", (error) => {
      isAnswered = true
      resume(Effect.fail(error))
    })
    socket.once("disconnect", (reason) => {
      if (reason === "parse error") resume(Effect.fail(undecodableError()))
    })
    socket.connect()
    const fallback =
      fallbackAfter &&
      setTimeout(() => failOpeningTransport(socket.io.engine, "websocket timeout"), Duration.toMillis(fallbackAfter))
    socket.io.engine.once("open", () => clearTimeout(fallback))
    rejectUnexpectedPackets(socket.io.engine)
    closeWhenSilent(socket.io.engine, attempt.agent.receivedBytes, onStale)
    socket.io.engine.once("upgrade", rememberTransport)
    // Before the handshake, the client of Socket.IO does not report the end of a connection.
    socket.io.engine.once("close", (_reason: string, details: unknown) => {
      clearTimeout(fallback)
      const versionError = versionCloseError(details)
      if (versionError !== undefined) resume(Effect.fail(versionError))
      // A rejection that arrived before the close is decoded later.
      setTimeout(() => {
        if (isAnswered) return
        network.onUnanswered()
        resume(Effect.fail(earlyCloseError()))
      })
    })
    socket.io.engine.once("handshake", ({ maxPayload }: { readonly maxPayload?: number | null }) => {
      limit.bytes = (maxPayload ?? defaultServerMaxBytes) - maxEnvelopeBytes
    })
    return Effect.sync(() => {
      clearTimeout(fallback)
      network.onUnanswered()
    })
  }).pipe(Effect.catch((error) => Effect.flatMap(toConnectError(attempt, error), Effect.fail)))

/** The token of the next attempt. A failure is retryable: the next attempt may get one. */
const resolveToken = (url: string, token: Token | undefined): Effect.Effect<string | undefined, Unreachable> =>
  Effect.isEffect(token)
    ? Effect.mapError(token, ({ message }) => new Unreachable({ message: `No token for ${url}: ${message}` }))
    : Effect.succeed(token)

type ConnectRequest = Parameters<TransportClient["Service"]["connect"]>[0]

const connectAt = Effect.fnUntraced(function* (
  options: ConnectOptions,
  network: TransportChooser,
  attempt: ConnectAttempt,
  { auth, onMessage }: ConnectRequest,
  timeoutTo: (reason: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unreachable, R>
): Effect.fn.Return<Link, ConnectError, Scope.Scope> {
  const { token } = attempt
  const run = yield* FiberSet.makeRuntime<never>()
  const choice = network.next(options.connectTimeout ?? defaultConnectTimeout)
  const socket = yield* openSocket(options, choice, attempt, { ...options.auth, ...auth, ...definedOnly({ token }) })
  const limit = { bytes: defaultServerMaxBytes }
  const openedAt = Date.now()
  const { link, markClosed, startReceiving } = yield* makeSocketIoLink(
    socket,
    () => limit.bytes,
    (reason) => network.onClosed(socket.io.engine?.transport.name, reason, Date.now() - openedAt)
  )
  yield* Effect.addFinalizer(() => markClosed("client_disconnect"))
  socket.on("disconnect", (reason) => void run(markClosed(closeReasonCode(reason))))
  startReceiving(onMessage)
  const onStale = () => void run(markClosed("keepalive_timeout"))
  yield* awaitConnected(socket, network, limit, attempt, choice.fallbackAfter, onStale).pipe(
    timeoutTo("connection timed out"),
    Effect.tapError(() => Effect.sync(() => socket.disconnect()))
  )
  return { ...link, id: socket.id ?? "" }
})

const isNotFound = (error: ConnectError) => error._tag === "AdmissionRejected" && error.reason === notFoundReason

const connect = Effect.fnUntraced(function* (
  options: ConnectOptions,
  network: TransportChooser,
  trusted: Effect.Effect<SecureContext | undefined, string>,
  request: ConnectRequest
): Effect.fn.Return<Link, ConnectError, Scope.Scope> {
  const { connectTimeout: duration = defaultConnectTimeout, headers } = options
  const url = displayUrl(options.url)
  const timeoutTo = (reason: string) =>
    Effect.timeoutOrElse({ duration, orElse: () => Effect.fail(makeUnreachable(url, reason)) })
  const token = yield* resolveToken(url, options.token).pipe(timeoutTo("token request timed out"))
  const { paths, query, ...server } = yield* parseServerUrl(options.url)
  const secureContext = yield* Effect.mapError(
    trusted,
    (reason) => new Unreachable({ message: `Cannot reach ${url}: the option ca: ${reason}`, permanent: true })
  )
  const agent = makeHttpAgent(server.origin, { secureContext, socketPath: options.socketPath })
  const isTokenRenewable = Effect.isEffect(options.token)
  const { office, version } = request
  const officeQuery = office === undefined ? {} : { [officeQueryParameter]: officeKeyOf(office) }
  const sentHeaders = agent.http === undefined ? headers : withUserAgent(headers)
  const attempt = {
    ...server,
    query: { ...query, ...officeQuery },
    url,
    version,
    token,
    isTokenRenewable,
    headers: sentHeaders,
    agent
  }
  const attempts = paths.map((path) => connectAt(options, network, { ...attempt, path }, request, timeoutTo))
  const [first = Effect.fail(makeUnreachable(url, "no path")), ...others] = attempts
  // A Server may be at another path, but its absence is reported for the first one.
  return yield* others.reduce(
    (connecting, next) =>
      Effect.catchIf(connecting, isNotFound, (error) => Effect.catchIf(next, isNotFound, () => Effect.fail(error))),
    first
  )
})

const makeLayer = (options: ConnectOptions): Layer.Layer<TransportClient> =>
  Layer.effect(
    TransportClient,
    Effect.gen(function* () {
      const trusted = options.ca === undefined ? Effect.undefined : yield* makeSecureContext(options.ca)
      const network = makeTransportChoice(options.transports)
      return TransportClient.of({ connect: (request) => connect(options, network, trusted, request) })
    })
  )

/** Connects to a Server over Socket.IO. Runs in Node and in browsers. */
export const layer = (options: SocketIoClientOptions): Layer.Layer<TransportClient> => makeLayer(options)

/** Connects over a Unix socket of this machine, on Node. */
export const layerOnSocket = (socketPath: string): Layer.Layer<TransportClient> =>
  makeLayer({ url: "http://localhost", socketPath })
