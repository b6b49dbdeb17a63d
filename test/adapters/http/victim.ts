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
export const makeVictim = (
  respond: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => void response.end("inside")
): Effect.Effect<Victim, never, Scope.Scope> => {
  const requests: Array<string> = []
  return Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const http = createServer((request, response) => {
        requests.push(`${request.method} ${request.url}`)
        response.setHeader("Connection", "close")
        respond(request, response)
      })
      http.listen(0, "127.0.0.1", () => resume(Effect.succeed(http)))
    }),
    (http) =>
      Effect.callback<void>((resume) => {
        http.close(() => resume(Effect.void))
        http.closeAllConnections()
      })
  ).pipe(
    Effect.map((http) => {
      const { port } = http.address() as AddressInfo
      return { port, url: `http://127.0.0.1:${port}`, requests }
    })
  )
}
