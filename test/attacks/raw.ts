import { connect as connectTcp, type Socket } from "node:net"
import { Deferred, Effect, Exit, Queue, type Scope } from "effect"
import type { WebSocket } from "ws"
import { goodKey } from "./credentials.ts"
import { Site } from "./Site.ts"
import { connectText, eventText, openSocket } from "./wire.ts"

/** A client that sends raw frames. */
export interface Raw {
  readonly socket: WebSocket
  readonly send: (...frames: ReadonlyArray<string | Buffer>) => void
  /** The next message, without the digit of Engine.IO. */
  readonly next: Effect.Effect<string>
  /** The next message with this prefix; others are dropped. */
  readonly waitFor: (start: string) => Effect.Effect<string>
  /** All received messages that were not taken. */
  readonly rest: Effect.Effect<ReadonlyArray<string>>
  readonly closed: Effect.Effect<void>
  /** Sends an event and returns the values of its acknowledgement. */
  readonly request: (event: string, body: unknown) => Effect.Effect<ReadonlyArray<unknown>>
}

/** Opens a WebSocket without a connect packet. */
export const unauthenticated: Effect.Effect<Raw, never, Scope.Scope | Site> = Effect.gen(function* () {
  const { url } = yield* Site
  const received = yield* Queue.unbounded<string>()
  const closed = yield* Deferred.make<void>()
  const socket = yield* Effect.acquireRelease(
    Effect.promise(() => openSocket(url)),
    (open) => Effect.sync(() => open.terminate())
  )
  socket.on("message", (data: Buffer) => {
    const text = data.toString()
    if (text.startsWith("4")) Queue.offerUnsafe(received, text.slice(1))
    else if (text === "2") socket.send("3")
  })
  socket.on("error", () => socket.terminate())
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.void))
  const next = Queue.take(received)
  const waitFor = (start: string): Effect.Effect<string> =>
    Effect.repeat(next, { until: (text) => text.startsWith(start) })
  let requests = 0
  const send: Raw["send"] = (...frames) => {
    for (const frame of frames) socket.send(frame)
  }
  return {
    socket,
    send,
    next,
    waitFor,
    rest: Queue.clear(received),
    closed: Deferred.await(closed),
    request: (event, body) =>
      Effect.suspend(() => {
        requests += 1
        const start = `3/smcp,${requests}`
        send(eventText(requests, event, body))
        return Effect.map(waitFor(`${start}[`), (text) => JSON.parse(text.slice(start.length)) as Array<unknown>)
      })
  }
})

/** Sends a connect packet and returns the reply. */
export const sendConnect = (client: Raw, auth: unknown): Effect.Effect<string> =>
  Effect.suspend(() => {
    client.send(connectText(auth))
    return client.next
  })

/** An admitted client outside any office. */
export const admitted = Effect.fnUntraced(function* (role: string, more: object = {}) {
  const client = yield* unauthenticated
  const reply = yield* sendConnect(client, { role, token: goodKey, ...more })
  if (!reply.startsWith("0/smcp,")) return yield* Effect.die(new Error(`not admitted: ${reply}`))
  return client
})

/** Joins an office and returns the reply. */
export const joining = (client: Raw, role: string, name: string, office: string) =>
  client.request("server:join_office", { role, name, office_id: office })

/** A member of an office. */
export const member = Effect.fnUntraced(function* (
  role: "agent" | "computer",
  name: string,
  office: string,
  more: object = {}
) {
  const client = yield* admitted(role, more)
  const [joined, why] = yield* joining(client, role, name, office)
  if (joined !== true) return yield* Effect.die(new Error(`not joined: ${String(why)}`))
  return client
})

/** An Agent's request to a Computer of the given name. */
export const request = (computer: string, more: object = {}) => ({
  agent: "mallory",
  req_id: "r",
  computer,
  ...more
})

/** A session of polling. */
export interface Polling {
  readonly sid: string
  /** The URL of its requests. */
  readonly path: string
  /** Sends a payload; returns the status of the response, or 0 without a response. */
  readonly post: (payload: string) => Effect.Effect<number>
  /** Polls once; returns status and text. */
  readonly get: Effect.Effect<{ readonly status: number; readonly text: string }>
}

/** Opens a session of polling without a connect packet. */
export const polling: Effect.Effect<Polling, never, Site> = Effect.gen(function* () {
  const { url } = yield* Site
  const start = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"
  const opened = yield* Effect.promise(async () => (await fetch(`${url}${start}`)).text())
  const { sid } = JSON.parse(opened.slice(1)) as { readonly sid: string }
  const path = `${start}&sid=${sid}`
  return {
    sid,
    path,
    post: (payload) =>
      Effect.promise(async () => {
        try {
          const response = await fetch(`${url}${path}`, { method: "POST", body: payload })
          await response.text()
          return response.status
        } catch {
          return 0
        }
      }),
    get: Effect.promise(async () => {
      const response = await fetch(`${url}${path}`)
      return { status: response.status, text: await response.text() }
    })
  }
})

/** Polls until a payload contains a text, or the session ends. */
export const until = ({ get }: Polling, text: string) =>
  Effect.repeat(get, { until: (got) => got.status !== 200 || got.text.includes(text) })

/** An admitted client over polling. */
export const admittedPolling = Effect.fnUntraced(function* (role: string) {
  const session = yield* polling
  yield* session.post(connectText({ role, token: goodKey }))
  yield* until(session, "40/smcp,")
  return session
})

/** A TCP connection. */
export interface Bare {
  readonly socket: Socket
  readonly closed: Effect.Effect<string>
}

/** Connects, writes a text, and returns all received text when the peer closes. */
export const bare = Effect.fnUntraced(function* (text: string): Effect.fn.Return<Bare, never, Scope.Scope | Site> {
  const { url } = yield* Site
  const { hostname, port } = new URL(url)
  const closed = yield* Deferred.make<string>()
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const opened = connectTcp({ host: hostname, port: Number(port) }, () => resume(Effect.succeed(opened)))
    }),
    (open) => Effect.sync(() => open.destroy())
  )
  let read = ""
  socket.on("data", (chunk: Buffer) => {
    if (read.length < 100_000) read += chunk.toString("latin1")
  })
  socket.on("error", () => socket.destroy())
  socket.on("close", () => Deferred.doneUnsafe(closed, Exit.succeed(read)))
  socket.write(text)
  return { socket, closed: Deferred.await(closed) }
})
