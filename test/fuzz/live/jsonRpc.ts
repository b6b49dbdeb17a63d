import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import type { Child } from "../../adapters/mcp/client/stdio/childrenInMemory.ts"

/** A message to an MCP server; a notification has no id, and an empty body no method. */
interface Message {
  readonly id: unknown
  readonly method: unknown
  readonly params: JsonObject
}

export const parseMessage = (message: string): Message => {
  const parsed: unknown = message === "" ? {} : JSON.parse(message)
  const { id, method, params } = isJsonObject(parsed) ? parsed : {}
  return { id, method, params: isJsonObject(params) ? params : {} }
}

/** Formats the response to a request: an error where the method has no result. */
export const formatResponse = (id: unknown, result: unknown): string => {
  const outcome = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }
  return JSON.stringify({ jsonrpc: "2.0", id, ...outcome })
}

/** The stdio of an MCP server that is a fake child process. */
export const makeStdio = (onLine: (line: string) => void) => {
  let write: (bytes: Uint8Array) => void = () => undefined
  let rest = ""
  const child: Child = {
    started: (to) => {
      write = to
      rest = ""
    },
    received: (bytes) => {
      const lines = (rest + Buffer.from(bytes).toString("utf8")).split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) onLine(line)
    }
  }
  return { child, write: (bytes: string | Uint8Array) => write(Buffer.from(bytes)) }
}

export const eventStreamHead = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" }

/** Handles a request of which the body has arrived. */
export type HandleRequest = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** Serves requests by their paths on a loopback listener. Gives its address. */
export const listenByPath = (
  handlers: ReadonlyMap<string, { readonly serve: HandleRequest }>
): Effect.Effect<string, never, Scope.Scope> => {
  const http = createServer(async (request, response) => {
    const body = await text(request).catch(() => undefined)
    if (body === undefined) return
    const found = handlers.get(new URL(request.url ?? "/", "http://x").pathname)
    if (found === undefined) response.writeHead(404).end()
    else found.serve(request, response, body)
  })
  const listening = Effect.callback<string>((resume) => {
    http.listen(0, "127.0.0.1", () =>
      resume(Effect.succeed(`http://127.0.0.1:${(http.address() as AddressInfo).port}`))
    )
  })
  return Effect.acquireRelease(listening, () =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      http.closeAllConnections()
    })
  )
}
