import { inspect } from "node:util"
import { it } from "@effect/vitest"
import {
  Cause,
  Context,
  Data,
  Deferred,
  Duration,
  Effect,
  Exit,
  Layer,
  Logger,
  References,
  Result,
  Scope
} from "effect"
import { TestClock } from "effect/testing"
import { io } from "socket.io-client"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as Memory from "../../src/adapters/memory/MemoryTransport.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import * as SocketIoServer from "../../src/adapters/socketio/SocketIoServer.ts"
import { allowAll, Authenticator } from "../../src/application/ports/Authenticator.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import {
  type NodeTransport,
  ServedLines,
  TransportClient,
  type TransportServer
} from "../../src/application/ports/Transport.ts"
import type { OfficeRegistry } from "../../src/application/ports/OfficeRegistry.ts"
import { Limits, ServerSettings } from "../../src/application/server/Limits.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { noMetrics, ServerMetrics } from "../../src/application/server/observability/ServerMetrics.ts"
import { type LineName, linesNamed, PROTOCOL_VERSION } from "../../src/domain/wire/lines.ts"
import { Readiness } from "../../src/application/server/observability/Readiness.ts"

/** A received message as on the wire. */
interface Received {
  readonly event: string
  readonly body: unknown
}

/** A log entry. */
interface LogLine {
  readonly level: string
  readonly text: string
}

type Answering = (event: string, body: unknown) => Effect.Effect<ReadonlyArray<unknown>>

/** The namespace connect was rejected with these data. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly code: unknown
  readonly message: string
}> {}

/** A raw peer that speaks the wire protocol only. */
export interface Peer {
  readonly sid: () => string
  /** Sends with an acknowledgement callback; gives the values of the acknowledgement. */
  readonly request: (event: string, ...payload: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<unknown>>
  /** Sends without an acknowledgement callback. */
  readonly notify: (event: string, ...payload: ReadonlyArray<unknown>) => Effect.Effect<void>
  /** Takes the next message of this event. */
  readonly receive: (event: string) => Effect.Effect<unknown>
  /** All messages received so far. */
  readonly received: () => ReadonlyArray<Received>
  /** Forgets all messages received so far. */
  readonly forget: Effect.Effect<void>
  /** Sets the handler of requests; until then the peer never replies. */
  readonly answers: (answering: Answering) => Effect.Effect<void>
  readonly close: Effect.Effect<void>
  readonly closed: Effect.Effect<string>
}

interface ConnectOptions {
  readonly auth?: unknown
  readonly version?: string
}

/** The transport of a world: with the relay, or with the stock Socket.IO server. Over polling the Server defers the parsing of bodies, as with large ones. */
type Way = "memory" | "socket.io" | "polling" | "stock"

/** A Server on a transport, with constructors for its members. */
export interface World {
  readonly transport: Way
  readonly url: string
  readonly server: Server["Service"]
  /** All log entries. */
  readonly logs: ReadonlyArray<LogLine>
  /** Sends the log entries of our clients to {@link World.logs}. */
  readonly logging: Layer.Layer<never>
  /** Provides the transport of our clients. */
  readonly client: Layer.Layer<TransportClient>
  readonly connect: (options?: ConnectOptions) => Effect.Effect<Peer, Refused, Scope.Scope>
  /** Advances virtual time; a world with real time ignores it. */
  readonly elapse: (duration: Duration.Input) => Effect.Effect<void>
}

const inbox = () => {
  const received: Array<Received> = []
  const taken = new Set<Received>()
  const waiting: Array<{ readonly event: string; readonly deferred: Deferred.Deferred<unknown> }> = []
  let answering: Answering = () => Effect.succeed([])
  return {
    received,
    answering: (event: string, body: unknown) => answering(event, body),
    answers: (next: Answering) =>
      Effect.sync(() => {
        answering = next
      }),
    arrive: (message: Received) => {
      received.push(message)
      const index = waiting.findIndex(({ event }) => event === message.event)
      const [waiter] = index < 0 ? [] : waiting.splice(index, 1)
      if (waiter === undefined) return
      taken.add(message)
      Deferred.doneUnsafe(waiter.deferred, Exit.succeed(message.body))
    },
    forget: Effect.sync(() => {
      received.length = 0
    }),
    receive: (event: string): Effect.Effect<unknown> =>
      Effect.suspend(() => {
        const found = received.find((message) => message.event === event && !taken.has(message))
        if (found !== undefined) {
          taken.add(found)
          return Effect.succeed(found.body)
        }
        const deferred = Deferred.makeUnsafe<unknown>()
        waiting.push({ event, deferred })
        return Deferred.await(deferred)
      })
  }
}

const hour = Duration.hours(1)
const valueOf = (head: Result.Result<unknown, { readonly message: string }>) =>
  Result.getOrElse(head, ({ message }) => ({ faulty: message }))

const memoryPeer = Effect.fnUntraced(function* (options: ConnectOptions) {
  const transport = yield* TransportClient
  const scope = yield* Effect.scope
  const own = yield* Scope.fork(scope)
  const { answering, answers, arrive, forget, receive, received } = inbox()
  const link = yield* transport
    .connect({
      version: options.version ?? PROTOCOL_VERSION,
      auth: options.auth as never,
      onMessage: (event, body) => {
        const value = valueOf(body.head)
        arrive({ event, body: value })
        return Effect.map(answering(event, value), (values) => values.map(jsonBody))
      }
    })
    .pipe(
      Scope.provide(own),
      Effect.mapError((error) =>
        error._tag === "AdmissionRejected" ? new Refused(error) : new Refused({ code: 0, message: error.message })
      )
    )
  const peer: Peer = {
    sid: () => link.id,
    request: (event, ...payload) =>
      link.request(event, jsonBody(payload[0]), hour).pipe(
        Effect.map((reply) => reply.map(({ head }) => valueOf(head))),
        Effect.catchTag("SendFailed", ({ error }) => Effect.succeed([{ code: error.code, message: error.message }])),
        Effect.orDie
      ),
    notify: (event, ...payload) => Effect.ignore(link.notify(event, jsonBody(payload[0]))),
    receive,
    received: () => received,
    forget,
    answers,
    close: Scope.close(own, Exit.void),
    closed: link.closed
  }
  return peer
})

const serverOf = (way: Way) => (way === "stock" ? SocketIoServer : RelayServer)

const transportsOf = (way: Way): Array<"polling" | "websocket"> =>
  way === "polling" ? ["polling"] : ["polling", "websocket"]

const socketPeer = Effect.fnUntraced(function* (way: Way, url: string, options: ConnectOptions) {
  const { answering, answers, arrive, forget, receive, received } = inbox()
  const closed = yield* Deferred.make<string>()
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${url}/smcp`, {
        path: "/smcp",
        query: { a2c_version: options.version ?? PROTOCOL_VERSION },
        auth: options.auth as object,
        reconnection: false,
        forceNew: true,
        transports: transportsOf(way)
      })
    ),
    (one) => Effect.sync(() => one.disconnect())
  )
  const run = Effect.runForkWith(yield* Effect.context<never>())
  socket.onAny((event: string, ...args: ReadonlyArray<unknown>) => {
    const ack = args.at(-1)
    const body = typeof args[0] === "function" ? undefined : args[0]
    arrive({ event, body })
    const reply = typeof ack === "function" ? ack : () => undefined
    run(Effect.map(answering(event, body), (values) => reply(...values)))
  })
  socket.on("disconnect", (reason) => Deferred.doneUnsafe(closed, Exit.succeed(reason)))
  yield* Effect.callback<void, Refused>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error: Error & { data?: { code?: unknown; message?: string } }) =>
      resume(Effect.fail(new Refused({ code: error.data?.code, message: error.data?.message ?? error.message })))
    )
  })
  const peer: Peer = {
    sid: () => socket.id ?? "",
    request: (event, ...payload) =>
      Effect.callback((resume) => {
        socket.emit(event, ...payload, (...values: ReadonlyArray<unknown>) => resume(Effect.succeed(values)))
      }),
    notify: (event, ...payload) => Effect.sync(() => void socket.emit(event, ...payload)),
    receive,
    received: () => received,
    forget,
    answers,
    close: Effect.andThen(
      Effect.sync(() => socket.disconnect()),
      Deferred.await(closed)
    ),
    closed: Deferred.await(closed)
  }
  return peer
})

/** Options of the Server of a case. */
export interface Conditions extends Partial<ServerSettings> {
  readonly maxMessageBytes?: number
  /** Over polling bodies are not fully parsed unless a case requests it. */
  readonly validateBytes?: number
  /** The protocol lines that the Server serves; all by default. */
  readonly lines?: ReadonlyArray<LineName>
  readonly allowedOrigins?: ReadonlyArray<string>
  /** Keepalive of the relay, in milliseconds. */
  readonly pingInterval?: number
  readonly pingTimeout?: number
  readonly limits?: Partial<Limits>
  readonly tally?: ServerMetrics["Service"]
  /** The read behaviour of members by session id; in memory only. */
  readonly reading?: (sid: string) => Effect.Effect<void>
  readonly authenticator?: Authenticator["Service"]
  /** The office registry and the links to other nodes; in memory by default. */
  readonly cluster?: Layer.Layer<OfficeRegistry | NodeTransport>
}

/** Starts a Server for the lifetime of the scope. */
export const buildWorld = Effect.fnUntraced(function* (
  transport: World["transport"],
  {
    allowedOrigins,
    authenticator = allowAll,
    cluster = MemoryCluster.layer,
    limits,
    maxMessageBytes,
    reading,
    lines,
    pingInterval,
    pingTimeout,
    tally = noMetrics,
    validateBytes = transport === "polling" ? 0 : undefined,
    ...settings
  }: Conditions
): Effect.fn.Return<World, never, Scope.Scope> {
  const options = {
    ...(maxMessageBytes !== undefined && { maxMessageBytes }),
    ...(allowedOrigins !== undefined && { allowedOrigins }),
    ...(pingInterval !== undefined && { pingInterval }),
    ...(pingTimeout !== undefined && { pingTimeout }),
    ...(validateBytes !== undefined && { validateBytes })
  }
  const logs: Array<LogLine> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    logs.push({ level: logLevel, text: [inspect(message, { depth: 9 }), Cause.pretty(cause)].join(" ") })
  })
  const logging = Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All"))
  const transports: Layer.Layer<TransportServer | TransportClient, never, ServerMetrics> =
    transport === "memory"
      ? Memory.layer({
          ...options,
          ...(reading !== undefined && {
            delay: (sid, to) => (to === "member" ? reading(sid) : Effect.void)
          })
        })
      : Layer.merge(serverOf(transport).layer(options), SocketIoClient.layer({ url: "http://set.below" }))
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(transports),
    Layer.provide(cluster),
    Layer.provide(Layer.succeed(ServedLines, linesNamed(lines))),
    Layer.provide(Layer.succeed(ServerSettings, { ...ServerSettings.defaultValue(), ...settings })),
    Layer.provide(Layer.succeed(Limits, { ...Limits.defaultValue(), ...limits })),
    Layer.provide([Layer.succeed(ServerMetrics, tally), Readiness.layer]),
    Layer.provide(Layer.succeed(Authenticator, authenticator)),
    Layer.provideMerge(logging),
    Layer.fresh,
    Layer.build,
    Effect.orDie
  )
  const server = Context.get(context, Server)
  const client =
    transport === "memory"
      ? Layer.succeed(TransportClient, Context.get(context, TransportClient))
      : SocketIoClient.layer({ url: server.url, transports: transportsOf(transport) })
  return {
    transport,
    url: server.url,
    server,
    client,
    logging,
    logs,
    connect: (given = {}) =>
      (transport === "memory"
        ? Effect.provide(memoryPeer(given), client)
        : socketPeer(transport, server.url, given)
      ).pipe(Effect.provideContext(context)),
    elapse: (duration) => (transport === "memory" ? TestClock.adjust(duration) : Effect.void)
  }
})

/** All transports, or those of this run: the fast tests leave some to a suite, and mutation tests run in memory only. */
const transportsOfRun: ReadonlyArray<string> = (
  process.env["A2C_TRANSPORTS"] ?? "memory,socket.io,polling,stock"
).split(",")

const socketTransports = (["socket.io", "polling", "stock"] as const).filter((way) => transportsOfRun.includes(way))

type Case = (world: World) => Effect.Effect<void, unknown, Scope.Scope>

/** Runs a conformance test in memory only: what it asserts takes minutes, or the virtual time that only this transport has. */
export const conformInMemory = (title: string, body: Case, conditions: Conditions = {}): void => {
  if (!transportsOfRun.includes("memory")) return
  it.effect(`${title} [memory]`, () => Effect.flatMap(buildWorld("memory", conditions), body))
}

/** Runs a conformance test on every transport. The title starts with the numbers of its cases. */
export const conform = (title: string, body: Case, conditions: Conditions = {}): void => {
  conformInMemory(title, body, conditions)
  for (const way of socketTransports) {
    it.live(`${title} [${way}]`, () => Effect.scoped(Effect.flatMap(buildWorld(way, conditions), body)))
  }
}
