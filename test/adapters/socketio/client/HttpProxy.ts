import { createServer, type IncomingMessage, request as httpRequest } from "node:http"
import { type AddressInfo, connect as connectTcp, type Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { WebSocketServer } from "ws"

/** A message of a polling response, or of a WebSocket. */
export type Message = string | Buffer

/** What happens to WebSockets at a proxy. A status rejects them; a list accepts them, and sends these messages. */
export type Upgrades = "pass" | "hang" | "no frames" | "close" | number | ReadonlyArray<Message>

/** A response of the proxy itself. */
export interface Page {
  readonly status: number
  readonly type: string
  readonly body: Message
}

/** An HTTP proxy that may answer itself. */
export interface HttpProxy {
  readonly url: string
  /** The page instead of the Server's response; undefined passes the request on. */
  answer: () => Page | undefined
  upgrades: Upgrades
  /** The requests that open a connection or an upgrade, as `polling`, `websocket` or `upgrade`. */
  readonly opened: Array<string>
  /** Connections that have changed from polling to WebSocket. */
  readonly upgraded: () => number
  /** Passes no frames of the open WebSockets any more, without a notice to either end. */
  readonly stopFrames: () => void
  /** Sends messages: on all WebSockets, or as the response of a poll, which may be the next one. */
  readonly inject: (...messages: ReadonlyArray<Message>) => void
  /** Closes all connections. */
  readonly closeAll: () => void
}

const isSession = (url: string | undefined): boolean => url?.includes("&sid=") === true

const headLines = ({ headers, method, url }: IncomingMessage): string =>
  [`${method} ${url} HTTP/1.1`, ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`)].join(
    "\r\n"
  )

/** True for bytes with the frame that ends an upgrade: the character 5, masked. */
const endsUpgrade = (bytes: Buffer): boolean => {
  const at = bytes.indexOf(Buffer.from([0x81, 0x81]))
  return at >= 0 && ((bytes[at + 2] ?? 0) ^ (bytes[at + 6] ?? 0)) === "5".charCodeAt(0)
}

const endOfHead = "\r\n\r\n"

/** A frame of a Server with one short message. */
const frameOf = (message: Message): Buffer => {
  const payload = Buffer.from(message)
  return Buffer.concat([Buffer.from([typeof message === "string" ? 0x81 : 0x82, payload.length]), payload])
}

/** The body of a polling response with several messages. */
const payloadOf = (messages: ReadonlyArray<Message>): Buffer =>
  Buffer.concat(messages.flatMap((message, index) => [...(index === 0 ? [] : [Buffer.of(30)]), Buffer.from(message)]))

/** Opens a proxy in front of the Server on a local port, which may change for new connections. */
export const openHttpProxy = Effect.fnUntraced(function* (
  target: number | (() => number | undefined)
): Effect.fn.Return<HttpProxy, never, Scope.Scope> {
  const sockets = new Set<Socket>()
  let upgraded = 0
  // Nothing listens at port 1.
  const targetPort = () => (typeof target === "number" ? target : (target() ?? 1))
  const tunnels = new Set<{ isStopped: boolean; readonly near: Socket }>()
  const polls = new Set<(body: Buffer) => void>()
  let nextPoll: Buffer | undefined
  const webSockets = new WebSocketServer({ noServer: true })
  const own = (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
    socket.on("close", () => sockets.delete(socket))
  }

  const tunnel = (request: IncomingMessage, near: Socket, passesFrames: boolean) => {
    const state = { isStopped: false, near }
    const far = connectTcp(targetPort(), "127.0.0.1")
    own(far)
    far.write(`${headLines(request)}${endOfHead}`)
    let head = ""
    far.on("data", (chunk: Buffer) => {
      if (passesFrames) return state.isStopped || near.write(chunk)
      if (head.includes(endOfHead)) return undefined
      head += chunk.toString("latin1")
      const end = head.indexOf(endOfHead)
      return end < 0 || near.write(head.slice(0, end + endOfHead.length), "latin1")
    })
    near.on("data", (chunk: Buffer) => {
      if (endsUpgrade(chunk)) upgraded += 1
      if (passesFrames && !state.isStopped) far.write(chunk)
    })
    far.on("close", () => state.isStopped || near.destroy())
    near.on("close", () => {
      tunnels.delete(state)
      far.destroy()
    })
    tunnels.add(state)
  }

  const http = yield* Effect.acquireRelease(
    Effect.sync(() => createServer()),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
        for (const socket of sockets) socket.destroy()
      })
  )
  const port = yield* Effect.callback<number>((resume) => {
    http.listen(0, "127.0.0.1", () => resume(Effect.succeed((http.address() as AddressInfo).port)))
  })
  const proxy: HttpProxy = {
    url: `http://127.0.0.1:${port}`,
    answer: () => undefined,
    upgrades: "pass",
    opened: [],
    upgraded: () => upgraded,
    stopFrames: () => {
      for (const state of tunnels) state.isStopped = true
    },
    inject: (...messages) => {
      if (tunnels.size === 0 && polls.size === 0) nextPoll = payloadOf(messages)
      for (const answer of polls) answer(payloadOf(messages))
      for (const { near } of tunnels) near.write(Buffer.concat(messages.map(frameOf)))
    },
    closeAll: () => {
      for (const socket of sockets) socket.destroy()
    }
  }
  http.on("connection", own)
  http.on("request", (request, response) => {
    if (!isSession(request.url)) proxy.opened.push("polling")
    const page = proxy.answer()
    if (page !== undefined) {
      response.writeHead(page.status, { "content-type": page.type, location: "/login", connection: "close" })
      response.end(page.body)
      return
    }
    const { headers, method, url: path } = request
    const passed = httpRequest({ port: targetPort(), host: "127.0.0.1", path, method, headers }, (answer) => {
      polls.delete(answerPoll)
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    const answerPoll = (body: Buffer) => {
      passed.removeAllListeners().on("error", () => undefined)
      response.writeHead(200, { "content-type": "text/plain", connection: "close" })
      response.end(body)
    }
    request.pipe(passed)
    passed.on("error", () => response.destroy())
    response.on("close", () => {
      polls.delete(answerPoll)
      passed.destroy()
    })
    if (method !== "GET" || !isSession(path)) return
    polls.add(answerPoll)
    if (nextPoll === undefined) return
    answerPoll(nextPoll)
    nextPoll = undefined
  })
  http.on("upgrade", (request: IncomingMessage, near: Socket) => {
    const { upgrades } = proxy
    proxy.opened.push(isSession(request.url) ? "upgrade" : "websocket")
    if (upgrades === "hang") return
    if (upgrades === "close") {
      near.destroy()
      return
    }
    if (typeof upgrades === "number") {
      near.end(
        `HTTP/1.1 ${upgrades} Odd\r\ncontent-type: text/html\r\ncontent-length: 4\r\nconnection: close\r\n\r\n<p/>`
      )
      return
    }
    if (typeof upgrades === "object") {
      webSockets.handleUpgrade(request, near, Buffer.alloc(0), (socket) => {
        for (const message of upgrades) socket.send(message)
      })
      return
    }
    tunnel(request, near, upgrades !== "no frames")
  })
  return proxy
})
