import { Agent, createServer, request } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

export interface Proxy {
  readonly url: string
  /** The requests in order: `METHOD URL`, or `CONNECT HOST:PORT`. */
  readonly requests: Array<string>
}

/** An HTTP proxy on loopback. It connects to loopback for any host, and refuses upgrades. */
export const makeProxy: Effect.Effect<Proxy, never, Scope.Scope> = Effect.gen(function* () {
  const requests: Array<string> = []
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on("error", () => socket.destroy())
  }
  const proxy = createServer((incoming, response) => {
    requests.push(`${incoming.method} ${incoming.url}`)
    const url = URL.parse(incoming.url ?? "")
    if (url === null) return void response.writeHead(400).end()
    const { headers, method = "" } = incoming
    // The global agent would use a proxy itself.
    const agent = new Agent()
    const forwarded = request({
      agent,
      host: "127.0.0.1",
      port: url.port,
      path: url.pathname + url.search,
      method,
      headers
    })
    forwarded.on("socket", keep)
    forwarded.on("error", () => response.destroy())
    forwarded.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    incoming.pipe(forwarded)
  })
  proxy.on("connection", keep)
  proxy.on("upgrade", ({ method, url }, socket) => {
    requests.push(`${method} ${url}`)
    socket.end("HTTP/1.1 501 Not Implemented\r\nConnection: close\r\n\r\n")
  })
  proxy.on("connect", ({ url }, client: Socket) => {
    requests.push(`CONNECT ${url}`)
    const server = connect(Number(url?.split(":").at(-1)), "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n")
      server.pipe(client).pipe(server)
    })
    keep(server)
    client.on("close", () => server.destroy())
    server.on("close", () => client.destroy())
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void proxy.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.sync(() => {
        proxy.close()
        for (const socket of sockets) socket.destroy()
      })
  )
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, requests }
})
