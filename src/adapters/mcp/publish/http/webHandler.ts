import { once } from "node:events"
import type { IncomingMessage, ServerResponse } from "node:http"
import { checkJsonBody, parseJson } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"

/** Handles a web request. Its signal aborts when the connection closes or the response ends. */
export type WebHandler = (request: Request, body: unknown) => Promise<Response>

/** Makes an error response without a request id. */
export const jsonRpcErrorResponse = (
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {}
) => Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers })

/** Reads a body; undefined when it exceeds the limit in bytes. */
const readBodyText = async (request: IncomingMessage, maxBytes: number): Promise<string | undefined> => {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const toWebRequest = ({ headers, method = "GET", url = "/" }: IncomingMessage, signal: AbortSignal) => {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as [string, string]]
  )
  return new Request(new URL(url, "http://localhost"), { method, headers: entries, signal })
}

const callHandler = async (
  request: IncomingMessage,
  signal: AbortSignal,
  handler: WebHandler,
  maxBytes: number
): Promise<Response> => {
  if (request.method !== "POST") return handler(toWebRequest(request, signal), undefined)
  const text = await readBodyText(request, maxBytes)
  if (text === undefined) {
    return jsonRpcErrorResponse(413, jsonRpcCodes.connectionClosed, `The message exceeds ${maxBytes} bytes`, {
      Connection: "close"
    })
  }
  const body = parseJson(text)
  if (body === undefined) return jsonRpcErrorResponse(400, jsonRpcCodes.parseError, "The body is not JSON")
  const problem = checkJsonBody(body)
  return problem === undefined
    ? handler(toWebRequest(request, signal), body)
    : jsonRpcErrorResponse(400, jsonRpcCodes.invalidRequest, `The body is not a valid message: ${problem}`)
}

/** Sends a body with backpressure and cancels it when the connection closes. */
const pipeBody = async (body: ReadableStream<Uint8Array>, response: ServerResponse, signal: AbortSignal) => {
  const sink = new WritableStream<Uint8Array>({
    write: async (chunk) => {
      if (!response.write(chunk)) await once(response, "drain", { signal })
    },
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
  maxBytes: number
): Promise<void> => {
  const controller = new AbortController()
  const { signal } = controller
  response.on("close", () => controller.abort())
  if (earlyResponse !== undefined) response.shouldKeepAlive = false
  const webResponse = earlyResponse ?? (await callHandler(request, signal, handler, maxBytes))
  response.writeHead(webResponse.status, { ...Object.fromEntries(webResponse.headers), ...headers })
  if (webResponse.body === null) response.end()
  else {
    response.flushHeaders()
    await pipeBody(webResponse.body, response, signal)
  }
}
