import * as MemoryCredentialStore from "../../../../fixtures/MemoryCredentialStore.ts"
import type { McpRevision } from "../../../../../src/domain/config/endpointParameters.ts"
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http"
import { type AddressInfo, createServer as createTcpServer, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Queue, Result, type Scope } from "effect"
import * as McpClient from "../../../../../src/adapters/mcp/client/McpClient.ts"
import { McpConnector, type McpSessionError, type McpSession } from "../../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint, type ServerType } from "../../../../../src/domain/config/endpointParameters.ts"
import { loopbackAddress, whenPortIsFree } from "../../../../loopbackAddress.ts"

/** The HTTP method of a request, and the JSON-RPC message of a POST. */
export interface Requested {
  readonly verb: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly id: unknown
  readonly method: string
  readonly params: { readonly name?: string; readonly uri?: string; readonly [name: string]: unknown }
}

/** An HTTP server without an SDK, for fault injection. */
export interface HttpPeer {
  readonly url: string
  /** The requests in order: tool names, JSON-RPC methods, or HTTP methods without a message. */
  readonly requests: ReadonlyArray<string>
  /**
   * Waits for a request that has not been awaited yet. `X was given up` waits until the client closes the
   * request X.
   */
  readonly until: (what: string) => Effect.Effect<void>
  /** Closes every connection and stops listening. */
  readonly stop: Effect.Effect<void>
  /** Listens again at the same address. */
  readonly start: Effect.Effect<void>
}

/** Starts a peer at an address that only it uses. */
export const makeHttpPeer = Effect.fnUntraced(function* (
  handle: (request: Requested, response: ServerResponse) => unknown
): Effect.fn.Return<HttpPeer, never, Scope.Scope> {
  const requests: Array<string> = []
  const news = yield* Queue.unbounded<string>()
  const { host, port } = loopbackAddress()
  const http = createServer(async (request, response) => {
    const { headers, method: verb = "", url: path = "" } = request
    const body = await text(request)
    const message = (body === "" ? {} : JSON.parse(body)) as Partial<Requested>
    const { id, method = verb, params = {} } = message
    const what = params.name ?? method
    requests.push(what)
    response.on("close", () => {
      if (!response.writableFinished) Queue.offerUnsafe(news, `${what} was given up`)
    })
    handle({ verb, path, headers, id, method, params }, response)
    Queue.offerUnsafe(news, what)
  })
  const listen = Effect.callback<void, Error>((resume) => {
    const onError = (error: Error) => resume(Effect.fail(error))
    http.once("error", onError)
    http.listen(port, host, () => {
      http.off("error", onError)
      resume(Effect.void)
    })
  })
  const stop = Effect.callback<void>((resume) => {
    http.close(() => resume(Effect.void))
    http.closeAllConnections()
  })
  yield* Effect.acquireRelease(Effect.orDie(listen), () => stop)
  return {
    url: `http://${host}:${port}/mcp`,
    requests,
    until: (what) => Effect.asVoid(Effect.repeat(Queue.take(news), { until: (one) => one === what })),
    stop,
    start: whenPortIsFree(listen)
  }
})

/** Starts a peer that sends these bytes in response to every request; returns its URL. */
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

/** Responds with one JSON document. */
export const json = (response: ServerResponse, id: unknown, answer: object, status = 200, headers = {}) =>
  response
    .writeHead(status, { "Content-Type": "application/json", ...headers })
    .end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }))

/** Starts an event stream with this text. */
export const stream = (response: ServerResponse, words: string) => {
  response.writeHead(200, { "Content-Type": "text/event-stream" }).write(words)
  return response
}

/** Default parameters of a Streamable HTTP server. */
const defaultParameters = {
  headers: null,
  timeout: "PT30S",
  sse_read_timeout: "PT300S",
  terminate_on_close: true
}

export const open = (
  { url }: Pick<HttpPeer, "url">,
  parameters: object = {},
  type: ServerType = "streamable"
): Effect.Effect<McpSession, McpSessionError, Scope.Scope> =>
  McpConnector.use(({ connect }) =>
    connect("peer", Result.getOrThrow(decodeEndpoint(type, { ...defaultParameters, url, ...parameters })))
  ).pipe(Effect.provide(Layer.provide(McpClient.layer, NodeServices.layer)))

/** Opens a session over HTTP with SSE. */
export const openSse = (peer: Pick<HttpPeer, "url">, more: object = {}) =>
  open(peer, { timeout: 5, sse_read_timeout: 300, ...more }, "sse")

/** Opens a session with a server that is asked for this revision first. */
export const openPreferring = (mcpRevision: McpRevision, { url }: Pick<HttpPeer, "url">) =>
  McpConnector.use(({ connect }) =>
    connect("peer", Result.getOrThrow(decodeEndpoint("streamable", { ...defaultParameters, url })))
  ).pipe(
    Effect.provide(
      McpClient.layerWithOAuth({ mcpRevision }).pipe(
        Layer.provide(Layer.merge(NodeServices.layer, MemoryCredentialStore.layer))
      )
    )
  )
