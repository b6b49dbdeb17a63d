import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Schedule, type Scope } from "effect"
import { io } from "socket.io-client"
import { parsePrometheus } from "../prometheus.ts"
import { type Cli, cli, node } from "./processes.ts"

/** A test of Servers in processes of their own, on the real clock. */
export const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body), 60_000)

/** One Server of a cluster. */
export interface Node {
  readonly process: Cli
  readonly url: string
}

/** Starts a Server that shares its offices by this Redis; limits are off, since tests have many calls at once. */
export const startNode = Effect.fnUntraced(function* (redis: string, ...more: ReadonlyArray<string>) {
  const limits = ["agent", "computer"].flatMap((role) => [`--max-calls-per-${role}`, "0"])
  const process = yield* node(
    [cli, "server", "--port", "0", ...limits, "--max-messages-per-second", "0", ...more],
    { A2C_REDIS: redis }
  )
  const url = (yield* process.says("listening on ")).replace("listening on ", "")
  return { process, url }
})

/** Starts three Servers that share their offices. */
export const startNodes = (redis: string, ...more: ReadonlyArray<string>) =>
  Effect.all([startNode(redis, ...more), startNode(redis, ...more), startNode(redis, ...more)], {
    concurrency: 3
  })

/** Waits until it holds; fails after `duration`, with what there was instead. */
export const until = <A>(look: Effect.Effect<A>, holds: (found: A) => boolean, duration = 10_000) =>
  Effect.filterOrFail(look, holds, (found) => `still ${JSON.stringify(found)}`).pipe(
    Effect.retry(Schedule.spaced("20 millis").pipe(Schedule.upTo({ duration })))
  )

/** What a page of a Server says. */
export const page = ({ url }: Node, path: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}${path}`)
    return { status: response.status, text: await response.text() }
  })

/** The metrics of a Server that begin with this, by their names and labels. */
export const metrics = (at: Node, ...names: ReadonlyArray<string>) =>
  Effect.map(page(at, "/metrics"), ({ text }) =>
    Object.fromEntries(
      [...parsePrometheus(text)].filter(([name]) => names.some((one) => name.startsWith(`a2c_${one}`)))
    )
  )

/** A notification, and when it came, in milliseconds since the process began. */
interface ReceivedNotification {
  readonly event: string
  readonly body: unknown
  readonly at: number
}

/** A member that knows nothing but the wire. */
export interface Peer {
  /** Sends a request; what it is answered with. It dies when the connection is lost before. */
  readonly request: (event: string, body: object) => Effect.Effect<ReadonlyArray<unknown>>
  /** Asks to sit in an office: nothing, or why not. */
  readonly join: (name: string, office: string) => Effect.Effect<string | undefined>
  readonly notify: (event: string, body: object) => Effect.Effect<void>
  /** Notifications so far. */
  readonly received: ReadonlyArray<ReceivedNotification>
  /** How many requests it has sent. */
  readonly requestCount: () => number
  /** How many acknowledgements have come, those that nobody waited for included. */
  readonly acknowledgements: () => number
  /** Waits until it is closed by the other side. */
  readonly closed: Effect.Effect<string>
  readonly close: Effect.Effect<void>
}

/** Answers a request, now or later or never. */
export type Answers = (
  request: { readonly req_id: string; readonly tool_name?: string },
  answer: (body: object) => void
) => void

/** Answers every call with its request id, but never those of the tool `never`. */
export const echo: Answers = ({ req_id, tool_name }, answer) => {
  if (tool_name !== "never") answer({ content: [{ type: "text", text: req_id }], isError: false })
}

/** Connects a member for as long as the scope. */
export const connect = Effect.fnUntraced(function* (
  { url }: Pick<Node, "url">,
  role: "agent" | "computer",
  { answers = echo, instance }: { readonly answers?: Answers; readonly instance?: string } = {}
): Effect.fn.Return<Peer, never, Scope.Scope> {
  const received: Array<ReceivedNotification> = []
  const closed = yield* Deferred.make<string>()
  let acknowledgements = 0
  let requestCount = 0
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() =>
      io(`${url}/smcp`, {
        path: "/smcp",
        query: { a2c_version: "0.2.0" },
        auth: { role, ...(instance !== undefined && { instance }) },
        transports: ["websocket"],
        forceNew: true,
        reconnection: false,
        autoConnect: false
      })
    ),
    (one) => Effect.sync(() => one.disconnect())
  )
  // Heard before the socket does, which has no function any more for an acknowledgement (3) that comes twice.
  socket.io.on("packet", ({ type }) => {
    if (type === 3) acknowledgements++
  })
  socket.on("disconnect", (reason) => Deferred.doneUnsafe(closed, Exit.succeed(reason)))
  socket.onAny((event: string, body: Parameters<Answers>[0], answer?: (body: object) => void) => {
    if (answer === undefined) received.push({ event, body, at: performance.now() })
    else answers(body, answer)
  })
  yield* Effect.callback<void>((resume) => {
    socket.once("connect", () => resume(Effect.void))
    socket.once("connect_error", (error) => resume(Effect.die(error)))
    socket.connect()
  })
  const request = (event: string, body: object) =>
    Effect.callback<ReadonlyArray<unknown>>((resume) => {
      const lost = (reason: string) => resume(Effect.die(new Error(`${event} was not answered: ${reason}`)))
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
    close: Effect.sync(() => void socket.disconnect())
  }
})

/** Connects a member and lets it sit in an office; dies when it may not. */
export const joinOffice = Effect.fnUntraced(function* (
  at: Pick<Node, "url">,
  role: "agent" | "computer",
  name: string,
  office: string,
  options: Parameters<typeof connect>[2] = {}
) {
  const peer = yield* connect(at, role, options)
  const reason = yield* peer.join(name, office)
  return reason === undefined ? peer : yield* Effect.die(new Error(`${name} may not join: ${reason}`))
})

/** How a call ended: `ok`, or the code of a refusal; and after how many milliseconds. */
export interface Outcome {
  readonly end: string
  readonly millis: number
}

let ids = 0

/** Calls a tool of a Computer as the Agent of this name. */
export const call = (agent: Peer, name: string, computer: string, tool = "echo", timeout = 60) =>
  Effect.suspend(() => {
    const req_id = `r${++ids}`
    const began = performance.now()
    const request = { agent: name, req_id, computer, tool_name: tool, params: {}, timeout }
    return Effect.map(agent.request("client:tool_call", request), ([body]): Outcome => {
      const { code, content } = body as { code?: number; content?: ReadonlyArray<{ text?: string }> }
      // The answer of another call would be none.
      const end = code === undefined ? (content?.[0]?.text === req_id ? "ok" : "mixed up") : String(code)
      return { end, millis: performance.now() - began }
    })
  })

/** Calls under way without a break, and how those that ended have ended. */
export interface Load {
  readonly outcomes: ReadonlyArray<Outcome>
  /** Those that ended from now on. */
  readonly since: () => () => ReadonlyArray<Outcome>
  /** Begins no more, and waits for the last one. */
  readonly stop: Effect.Effect<ReadonlyArray<Outcome>>
}

/** Makes calls of an Agent to a Computer, so many at once. A refusal that comes at once is followed by a breath. */
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
      if (outcome.end !== "ok") yield* Effect.sleep("10 millis")
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

/** How often each thing is there. */
export const tally = (things: ReadonlyArray<string>): { readonly [thing: string]: number } =>
  Object.fromEntries(
    [...Map.groupBy(things, (thing) => thing)].map(([thing, those]) => [thing, those.length])
  )

/** What was heard of one event, in order. */
export const bodies = ({ received }: Peer, event: string) =>
  received.filter((one) => one.event === event).map(({ body }) => body)

/** Waits until a member has heard that a Computer is there: at another Server that is a moment after it came. */
export const meets = (member: Peer, name: string) =>
  until(
    Effect.sync(() =>
      member.received.findLast(
        ({ body, event }) => event.endsWith("_office") && (body as { computer?: string }).computer === name
      )
    ),
    (last) => last?.event === "notify:enter_office"
  )

/** Who sits in an office, as its Agent sees it: names, in order. */
export const room = (agent: Peer, name: string, office: string) =>
  Effect.map(
    agent.request("server:list_room", { agent: name, req_id: `r${++ids}`, office_id: office }),
    ([body]) =>
      (body as { sessions: ReadonlyArray<{ role: string; name: string }> }).sessions.map(
        ({ name: one, role }) => `${role} ${one}`
      )
  )
