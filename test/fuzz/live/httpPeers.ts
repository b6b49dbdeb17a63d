import type { ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { Effect, type Scope } from "effect"
import { eventStreamHead, type HandleRequest, listenByPath, parseMessage } from "./jsonRpc.ts"
import { type HostilePeer, honestMessage, inPieces, listChanged, makePlays, makeTurns } from "./mcpPeer.ts"

/** The HTTP transport of a server: streamable or SSE. */
export type HttpKind = "streamable" | "sse"

/** An MCP server over HTTP, and its address. */
export interface OddHttpServer {
  readonly peer: HostilePeer
  readonly url: string
}

/** A peer and its request handler. */
interface Served {
  readonly peer: HostilePeer
  readonly serve: HandleRequest
}

const json = { "Content-Type": "application/json", "Mcp-Session-Id": "session" }
const endOfEvent = "\n\n"
const endOfHead = "\r\n\r\n"

const eventOf = (message: string): string => `data: ${message}${endOfEvent}`

/** The body of a raw response; all of it where there is no head. */
const bodyOf = (raw: Buffer): Buffer => {
  const end = raw.indexOf(endOfHead)
  return end < 0 ? raw : raw.subarray(end + endOfHead.length)
}

/** A redirect executes nothing, so the client may repeat the request. */
const isRedirect = (raw: Buffer): boolean => /^HTTP\/\S* 3/.test(raw.toString("latin1", 0, 16))

/** Responds with raw bytes, then closes the connection, every other time abruptly. */
const answerRaw = (socket: Socket, raw: Buffer): void => {
  socket.write(raw, () => (raw.length % 2 === 0 ? socket.end() : socket.destroy()))
}

const makePeer = (name: string, kind: HttpKind): Served => {
  const { play, played, take } = makePlays()
  const { callsOf, note } = makeTurns()
  let stream: ServerResponse | undefined

  const listen = (response: ServerResponse): void => {
    stream = response.writeHead(200, eventStreamHead)
    stream.write(kind === "sse" ? `event: endpoint\ndata: ?session${endOfEvent}` : ":\n")
  }
  const serve: HandleRequest = (request, response, body) => {
    const { id, method: requested = request.method, params } = parseMessage(body)
    const method = String(requested)
    const raw = take(method, id)
    if (raw === undefined || !isRedirect(raw)) note(method, params)
    if (request.method === "POST" && kind === "sse") {
      response.writeHead(202).end()
      if (raw !== undefined) stream?.write(Buffer.concat([bodyOf(raw), Buffer.from(endOfEvent)]))
      if (id !== undefined) stream?.write(eventOf(honestMessage(name, id, method, params)))
    } else if (raw !== undefined) answerRaw(request.socket, raw)
    else if (request.method === "GET") listen(response)
    else if (id === undefined) response.writeHead(request.method === "POST" ? 202 : 200).end()
    else response.writeHead(200, json).end(honestMessage(name, id, method, params))
  }
  return {
    serve,
    peer: {
      name,
      play,
      played,
      print: (bytes, random) => {
        for (const piece of inPieces(bodyOf(bytes), random)) stream?.write(piece)
        stream?.write(endOfEvent)
      },
      notifyChanged: (what) => void stream?.write(eventOf(listChanged(what))),
      callsOf
    }
  }
}

/** Starts a loopback listener with several MCP servers of these names and kinds. */
export const startHttpPeers = (
  kinds: ReadonlyArray<readonly [name: string, kind: HttpKind]>
): Effect.Effect<ReadonlyArray<OddHttpServer>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const peers = new Map(kinds.map(([name, kind]) => [`/${name}`, makePeer(name, kind)]))
    const origin = yield* listenByPath(peers)
    return [...peers].map(([path, { peer }]) => ({ peer, url: origin + path }))
  })
