import type { IncomingMessage, ServerResponse } from "node:http"
import { checkJsonBody, parseJson } from "../../../../domain/json.ts"
import { writeInParts } from "../../../bytes/writeInParts.ts"
import { rejectionOf, repairClientBody } from "../clientMessages.ts"

/** Handles a web request. Its signal aborts when the connection closes or the response ends. */
export type WebHandler = (request: Request, body: unknown) => Promise<Response>

/** Makes an error response without a request id. */
export const jsonRpcErrorResponse = (
  status: number,
  code: Parameters<typeof rejectionOf>[1],
  message: string,
  headers: Record<string, string> = {}
) => Response.json(rejectionOf(null, code, message), { status, headers })

/** Limits of bodies in bytes. All bodies in progress share the budget. */
export interface BodyLimits {
  readonly maxBytes: number
  readonly budget: { readonly maxBytes: number; usedBytes: number }
}

const bodyRejected = (status: number, message: string, headers: Record<string, string> = {}) =>
  jsonRpcErrorResponse(status, "connectionClosed", message, { Connection: "close", ...headers })

/** Reads a body within the limits, or rejects it. It counts until its response closes: the handler keeps it so long. */
const readBodyText = async (request: IncomingMessage, response: ServerResponse, { budget, maxBytes }: BodyLimits) => {
  const tooLarge = () => bodyRejected(413, `The message exceeds ${maxBytes} bytes`)
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return tooLarge()
  const chunks: Array<Buffer> = []
  let size = 0
  response.once("close", () => {
    budget.usedBytes -= size
  })
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (response.closed) break
    size += chunk.byteLength
    budget.usedBytes += chunk.byteLength
    if (size > maxBytes) return tooLarge()
    // A body may take as much as is free for the others: a few large ones never exclude all small ones.
    if (size > budget.maxBytes - budget.usedBytes) {
      return bodyRejected(503, "Too many bytes of messages are in progress; try again later", { "Retry-After": "2" })
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const toWebRequest = ({ headers: given, method = "GET", url = "/" }: IncomingMessage, signal: AbortSignal) => {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]))
  return new Request(new URL(url, "http://localhost"), { method, headers, signal })
}

const callHandler = async (
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
  handler: WebHandler,
  limits: BodyLimits
): Promise<Response> => {
  if (request.method !== "POST") return handler(toWebRequest(request, signal), undefined)
  const text = await readBodyText(request, response, limits)
  if (typeof text !== "string") return text
  const body = parseJson(text.replace(/^\u{feff}/u, ""))
  if (body === undefined) return jsonRpcErrorResponse(400, "parseError", "The body is not JSON")
  const problem = checkJsonBody(body)
  if (problem !== undefined) {
    return jsonRpcErrorResponse(400, "invalidRequest", `The body is not a valid message: ${problem}`)
  }
  const repaired = repairClientBody(body)
  return "rejection" in repaired
    ? Response.json(repaired.rejection, { status: 400 })
    : handler(toWebRequest(request, signal), repaired.body)
}

/**
 * Sends a body with backpressure and cancels it when the connection closes. A body that ends ends the response at once:
 * a server that closes leaves no connection open that becomes idle later.
 */
const pipeBody = async (body: ReadableStream<Uint8Array>, response: ServerResponse, signal: AbortSignal) => {
  const sink = new WritableStream<Uint8Array>({
    write: (chunk) =>
      new Promise((resolve) => {
        const done = () => {
          response.off("close", done)
          resolve()
        }
        // Node does not report the end of a write that waits for the response to an earlier request.
        response.once("close", done)
        writeInParts(response, chunk, (_, isDone) => isDone && done(), false)
      }),
    close: () => void response.end()
  })
  await body.pipeTo(sink, { signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error
  })
}

/** What is decided from the headers of a request. */
export interface HeadersDecision {
  /** Given when the response does not depend on the body, which is then not read. */
  readonly earlyResponse: Response | undefined
  /** For every response. */
  readonly headers: Readonly<Record<string, string>>
}

export const runWebHandler = async (
  request: IncomingMessage,
  response: ServerResponse,
  { earlyResponse, headers }: HeadersDecision,
  handler: WebHandler,
  limits: BodyLimits
): Promise<void> => {
  const controller = new AbortController()
  const { signal } = controller
  response.on("close", () => controller.abort())
  if (earlyResponse !== undefined) response.shouldKeepAlive = false
  const webResponse = earlyResponse ?? (await callHandler(request, response, signal, handler, limits))
  response.writeHead(webResponse.status, { ...Object.fromEntries(webResponse.headers), ...headers })
  if (webResponse.body === null) response.end()
  else {
    response.flushHeaders()
    await pipeBody(webResponse.body, response, signal)
  }
}
