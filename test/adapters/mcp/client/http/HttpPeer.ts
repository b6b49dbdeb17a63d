import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Queue, Result, type Scope } from "effect"
import * as McpClient from "../../../../../src/adapters/mcp/client/McpClient.ts"
import {
  McpConnector,
  type McpSessionError,
  type McpSession
} from "../../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint, type ServerType } from "../../../../../src/domain/config/endpointParameters.ts"

/** A request as a peer sees it: its HTTP method, and the JSON-RPC message of a POST. */
export interface Asked {
  readonly verb: string
  readonly headers: IncomingHttpHeaders
  readonly id: unknown
  readonly method: string
  readonly params: { readonly name?: string; readonly uri?: string; readonly [name: string]: unknown }
}

/** An HTTP server of one line of code per fault, without any SDK. */
export interface HttpPeer {
  readonly url: string
  /** What it was asked, in order: names of tools, methods of JSON-RPC, or of HTTP where there is no message. */
  readonly asked: ReadonlyArray<string>
  /**
   * Waits until it is asked this; what was asked before that is not waited for any more. `X was given up` waits until
   * nobody waits for the answer to X any more.
   */
  readonly until: (what: string) => Effect.Effect<void>
  /** Closes every connection and listens no more. */
  readonly stop: Effect.Effect<void>
  /** Listens again, at the same address. */
  readonly start: Effect.Effect<void>
}

/** Starts a peer on a free port. */
export const makeHttpPeer = Effect.fnUntraced(function* (
  handle: (asked: Asked, response: ServerResponse) => unknown
): Effect.fn.Return<HttpPeer, never, Scope.Scope> {
  const asked: Array<string> = []
  const news = yield* Queue.unbounded<string>()
  let port = 0
  const http = createServer(async (request, response) => {
    const { headers, method: verb = "" } = request
    const body = await text(request)
    const message = (body === "" ? {} : JSON.parse(body)) as Partial<Asked>
    const { id, method = verb, params = {} } = message
    const what = params.name ?? method
    asked.push(what)
    response.on("close", () => {
      if (!response.writableFinished) Queue.offerUnsafe(news, `${what} was given up`)
    })
    handle({ verb, headers, id, method, params }, response)
    Queue.offerUnsafe(news, what)
  })
  const start = Effect.callback<void>((resume) => {
    http.listen(port, "127.0.0.1", () => {
      ;({ port } = http.address() as AddressInfo)
      resume(Effect.void)
    })
  })
  const stop = Effect.callback<void>((resume) => {
    http.close(() => resume(Effect.void))
    http.closeAllConnections()
  })
  yield* Effect.acquireRelease(start, () => stop)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    asked,
    until: (what) => Effect.asVoid(Effect.repeat(Queue.take(news), { until: (one) => one === what })),
    stop,
    start
  }
})

/** Starts a peer that answers whatever it is sent with these bytes; gives its URL. */
export const makeRawPeer = (answer: () => string): Effect.Effect<string, never, Scope.Scope> => {
  const sockets = new Set<Socket>()
  const tcp = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
    socket.on("data", () => void socket.write(answer()))
  })
  return Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      tcp.listen(0, "127.0.0.1", () => {
        resume(Effect.succeed(`http://127.0.0.1:${(tcp.address() as AddressInfo).port}/mcp`))
      })
    }),
    () =>
      Effect.callback<void>((resume) => {
        tcp.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
}

/** Answers with one JSON document. */
export const json = (response: ServerResponse, id: unknown, answer: object, status = 200, headers = {}) =>
  response
    .writeHead(status, { "Content-Type": "application/json", ...headers })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }))

/** Begins a stream of events with these words. */
export const stream = (response: ServerResponse, words: string) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" }).write(words)
  return response
}

/** The parameters of a Streamable HTTP server that are not given. */
const usual = { headers: null, timeout: "PT30S", sse_read_timeout: "PT300S", terminate_on_close: true }

/** Opens a session with a peer. */
export const open = (
  { url }: Pick<HttpPeer, "url">,
  parameters: object = {},
  type: ServerType = "streamable"
): Effect.Effect<McpSession, McpSessionError, Scope.Scope> =>
  McpConnector.use(({ connect }) =>
    connect("peer", Result.getOrThrow(decodeEndpoint(type, { ...usual, url, ...parameters })))
  ).pipe(Effect.provide(Layer.provide(McpClient.layer, NodeServices.layer)))
