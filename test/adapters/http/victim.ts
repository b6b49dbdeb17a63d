import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

export interface Victim {
  readonly port: number
  readonly url: string
  /** The requests that arrived, as `METHOD PATH`. */
  readonly requests: Array<string>
}

/** A web server on loopback that nothing may reach unasked. Every connection serves one request. */
export const makeVictim = Effect.fnUntraced(function* (
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end("inside")
): Effect.fn.Return<Victim, never, Scope.Scope> {
  const requests: Array<string> = []
  const http = yield* Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((request, response) => {
        requests.push(`${request.method} ${request.url}`)
        response.setHeader("Connection", "close")
        respond(request, response)
      })
      server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (open) =>
      Effect.callback<void>((resume) => {
        open.close(() => resume(Effect.void))
        open.closeAllConnections()
      })
  )
  const { port } = http.address() as AddressInfo
  return { port, url: `http://127.0.0.1:${port}`, requests }
})
