import { Deferred, Effect, Exit, Schedule, type Scope } from "effect"
import { io } from "socket.io-client"
import { parsePrometheus } from "../prometheus.ts"
import { type Cli, startServer } from "./processes.ts"

/** In milliseconds: far less than the timeout of the calls here, and far more than a busy machine needs. */
export const soon = 20_000

/** One Server of a cluster. */
export interface Node {
  readonly process: Cli
  readonly url: string
}

/** Starts a Server of the cluster on this Redis. Rate limits are off, since tests make many concurrent calls. */
export const startNode = Effect.fnUntraced(function* (redis: string, ...more: ReadonlyArray<string>) {
  const limits = ["agent", "computer"].flatMap((role) => [`--max-calls-per-${role}`, "0"])
  return yield* startServer([...limits, "--max-messages-per-second", "0", ...more], { A2C_REDIS: redis })
})

/** Starts a cluster of three Servers. */
export const startNodes = (redis: string, ...more: ReadonlyArray<string>) =>
  Effect.all([startNode(redis, ...more), startNode(redis, ...more), startNode(redis, ...more)], {
    concurrency: 3
  })

/** Waits until the condition holds. Fails after `duration` with the last value. */
export const until = <A>(look: Effect.Effect<A>, holds: (found: A) => boolean, duration = 60_000) =>
  Effect.filterOrFail(look, holds, (found) => `still ${JSON.stringify(found)}`).pipe(
    Effect.retry(Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration })))
  )

/** Status and text of a page. */
export const page = ({ url }: Node, path: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}${path}`)
    return { status: response.status, text: await response.text() }
  })

/** Metrics whose names start with this, by name and labels. */
export const metrics = (at: Node, ...names: ReadonlyArray<string>) =>
  Effect.map(page(at, "/metrics"), ({ text }) =>
    Object.fromEntries(
      [...parsePrometheus(text)].filter(([name]) => names.some((one) => name.startsWith(`a2c_${one}`)))
    )
  )

/** A notification with its arrival time, in milliseconds since the start of the process. */
interface ReceivedNotification {
  readonly event: string
  readonly body: unknown
  readonly at: number
}

/** A member that uses only the wire protocol. */
export interface Peer {
  /** Sends a request and returns the reply. Dies when the connection is lost before. */
  readonly request: (event: string, body: object) => Effect.Effect<ReadonlyArray<unknown>>
  /** Joins an office. Returns undefined, or the reason of a rejection. */
  readonly join: (name: string, office: string) => Effect.Effect<string | undefined>
  readonly notify: (event: string, body: object) => Effect.Effect<void>
  /** Notifications so far. */
  readonly received: ReadonlyArray<ReceivedNotification>
  /** Number of sent requests. */
  readonly requestCount: () => number
  /** Number of received acknowledgements, unexpected ones included. */
  readonly acknowledgements: () => number
  /** Waits until the other side closes the connection. */
  readonly closed: Effect.Effect<string>
  /** The name of its transport: a connection that begins with polling may go on with a WebSocket. */
  readonly transport: () => string | undefined
  /** The id of its session of Engine.IO. */
  readonly session: () => string | undefined
  readonly close: Effect.Effect<void>
}

/** Handles a request; it may reply at once, later or never. */
export type Answers = (
  request: {
    readonly req_id: string
    readonly tool_name?: string
    readonly params?: { readonly [name: string]: unknown }
  },
  answer: (body: object) => void,
  event: string
) => void

/** Replies to each call with its request id, but never to the tool `never`. */
export const echo = ({ req_id, tool_name }: Parameters<Answers>[0], answer: Parameters<Answers>[1]): void => {
  if (tool_name !== "never") answer({ content: [{ type: "text", text: req_id }], isError: false })
}

/** Connects a member until the scope closes. */
export const connect = Effect.fnUntraced(function* (
  { url }: Pick<Node, "url">,
  role: "agent" | "computer",
  {
    answers = echo,
    instance,
    query = {},
    transports = ["websocket"],
    ca
  }: {
    readonly answers?: Answers
    readonly instance?: string
    /** Parameters of the handshake beside the version. */
    readonly query?: { readonly [name: string]: string }
    readonly transports?: ReadonlyArray<"polling" | "websocket">
    /** The certificate of a Server with TLS. */
    readonly ca?: string
  } = {}
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const received: Array<ReceivedNotification> = []
  const closed = yield* Deferred.make<string>()
  let acknowledgements = 0
  let requestCount = 0
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${url}/smcp`, {
        path: "/smcp",
        query: { a2c_version: "0.2.0", ...query },
        auth: { role, ...(instance !== undefined && { instance }) },
        transports: [...transports],
        ...(ca !== undefined && { ca }),
        forceNew: true,
        reconnection: false,
        autoConnect: false
      })
    ),
    (one) => Effect.sync(() => one.disconnect())
  )
  // Counts at the manager, since the socket drops a repeated acknowledgement (3).
  socket.io.on("packet", ({ type }) => {
    if (type === 3) acknowledgements++
  })
  socket.on("disconnect", (reason) => Deferred.doneUnsafe(closed, Exit.succeed(reason)))
  socket.onAny((event: string, body: Parameters<Answers>[0], answer?: (body: object) => void) => {
    if (answer === undefined) received.push({ event, body, at: performance.now() })
    else answers(body, answer, event)
  })
  yield* Effect.callback<void>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.die(error)))
    socket.connect()
  })
  const request = (event: string, body: object) =>
    Effect.callback<ReadonlyArray<unknown>>((resume) => {
      const lost = (reason: string) => resume(Effect.die(new Error(`${event} was not acknowledged: ${reason}`)))
      requestCount++
      socket.once("disconnect", lost)
      socket.emit(event, body, (...values: ReadonlyArray<unknown>) => {
        socket.off("disconnect", lost)
        resume(Effect.succeed(values))
      })
    })
  return {
    request,
    join: (name, office) =>
      Effect.map(request("server:join_office", { role, name, office_id: office }), ([joined, reason]) =>
        joined === true ? undefined : String(reason)
      ),
    notify: (event, body) => Effect.sync(() => void socket.emit(event, body)),
    received,
    requestCount: () => requestCount,
    acknowledgements: () => acknowledgements,
    closed: Deferred.await(closed),
    transport: () => socket.io.engine?.transport.name,
    session: () => (socket.io.engine as { readonly id?: string } | undefined)?.id,
    close: Effect.sync(() => void socket.disconnect())
  }
})

/** Connects a member and joins an office. Dies on a rejection. */
export const joinOffice = Effect.fnUntraced(function* (
  at: Pick<Node, "url">,
  role: "agent" | "computer",
  name: string,
  office: string,
  options: Parameters<typeof connect>[2] = {}
) {
  const peer = yield* connect(at, role, options)
  const reason = yield* peer.join(name, office)
  return reason === undefined ? peer : yield* Effect.die(new Error(`${name} cannot join: ${reason}`))
})

/** Outcome of a call: `ok` or an error code, and its duration in milliseconds. */
export interface Outcome {
  readonly end: string
  readonly millis: number
}

let ids = 0

/** Calls a tool of a Computer as this Agent. */
export const call = (agent: Peer, name: string, computer: string, tool = "echo", timeout = 60) =>
  Effect.suspend(() => {
    const req_id = `r${++ids}`
    const began = performance.now()
    const request = { agent: name, req_id, computer, tool_name: tool, params: {}, timeout }
    return Effect.map(agent.request("client:tool_call", request), ([body]): Outcome => {
      const { code, content } = body as { code?: number; content?: ReadonlyArray<{ text?: string }> }
      // The result belongs to another call.
      const end = code === undefined ? (content?.[0]?.text === req_id ? "ok" : "mixed up") : String(code)
      return { end, millis: performance.now() - began }
    })
  })

/** Continuous calls and the outcomes of those that ended. */
export interface Load {
  readonly outcomes: ReadonlyArray<Outcome>
  /** Outcomes of calls that end from now on. */
  readonly since: () => () => ReadonlyArray<Outcome>
  /** Starts no more calls and waits for pending ones. */
  readonly stop: Effect.Effect<ReadonlyArray<Outcome>>
}

/** Makes concurrent calls of an Agent to a Computer, with a pause after each: the tests share the machine. */
export const load = Effect.fnUntraced(function* (
  agent: Peer,
  name: string,
  computer: string,
  atOnce: number
): Effect.fn.Return<Load, never, Scope.Scope> {
  const outcomes: Array<Outcome> = []
  const done = yield* Deferred.make<void>()
  let going = true
  let left = atOnce
  const caller = Effect.gen(function* () {
    while (going) {
      const outcome = yield* call(agent, name, computer)
      outcomes.push(outcome)
      yield* Effect.sleep("10 millis")
    }
    if (--left === 0) Deferred.doneUnsafe(done, Exit.void)
  })
  yield* Effect.forEach(Array.from({ length: atOnce }), () => Effect.forkScoped(caller), { discard: true })
  return {
    outcomes,
    since: () => {
      const from = outcomes.length
      return () => outcomes.slice(from)
    },
    stop: Effect.suspend(() => {
      going = false
      return Effect.as(Deferred.await(done), outcomes)
    })
  }
})

/** Counts equal values. */
export const tally = (things: ReadonlyArray<string>): { readonly [thing: string]: number } =>
  Object.fromEntries([...Map.groupBy(things, (thing) => thing)].map(([thing, those]) => [thing, those.length]))

/** The bodies of one event, in order. */
export const bodies = ({ received }: Peer, event: string) =>
  received.filter((one) => one.event === event).map(({ body }) => body)

/** Waits until a member is notified of a Computer. Across Servers the notice may come after the join. */
export const meets = (member: Peer, name: string) =>
  until(
    Effect.sync(() =>
      member.received.findLast(
        ({ body, event }) => event.endsWith("_office") && (body as { computer?: string }).computer === name
      )
    ),
    (last) => last?.event === "notify:enter_office"
  )

/** The members of an office as its Agent sees them: names in order. */
export const room = (agent: Peer, name: string, office: string) =>
  Effect.map(agent.request("server:list_room", { agent: name, req_id: `r${++ids}`, office_id: office }), ([body]) =>
    (body as { sessions: ReadonlyArray<{ role: string; name: string }> }).sessions.map(
      ({ name: one, role }) => `${role} ${one}`
    )
  )
