import type { IncomingMessage, ServerResponse } from "node:http"
import { checkJsonBody, parseJson } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../jsonRpcCodes.ts"

/** Answers a request of the web's kind; its signal is aborted once its connection or its answer has ended. */
export type WebHandler = (request: Request, body: unknown) => Promise<Response>

/** An error as it is answered before anything is known of the request. */
export const jsonRpcErrorResponse = (
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {}
) => Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers })

/** The text of a body, or undefined when it is larger than allowed, in bytes. */
const readBodyText = async (request: IncomingMessage, maxBytes: number): Promise<string | undefined> => {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) return undefined
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue
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

const waitForDrain = (response: ServerResponse) =>
  new Promise<void>((resolve) => {
    const done = () => {
      response.off("drain", done)
      response.off("close", done)
      resolve()
    }
    response.on("drain", done)
    response.on("close", done)
  })

/** Sends a body as fast as the peer takes it, and lets go of it when the peer has gone. */
const pipeBody = async (body: ReadableStream<Uint8Array>, response: ServerResponse) => {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  response.on("close", cancel)
  if (response.destroyed) cancel()
  for (;;) {
    const { done, value } = await reader.read()
    if (done || response.destroyed) break
    if (!response.write(value)) await waitForDrain(response)
  }
  response.end()
}

/** What an exchange is made of. */
interface ExchangeOptions {
  readonly handler: WebHandler
  /** Given when the answer is known before the body has been read; then nobody reads it. */
  readonly earlyResponse: Response | undefined
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** How large a body may be, in bytes. */
  readonly maxBytes: number
}

/** Has a request of Node's kind answered by one that knows those of the web. */
export const runWebHandler = async (
  request: IncomingMessage,
  response: ServerResponse,
  { handler, earlyResponse, headers, maxBytes }: ExchangeOptions
): Promise<void> => {
  const connectionClosed = new AbortController()
  response.on("close", () => connectionClosed.abort())
  if (earlyResponse !== undefined) response.shouldKeepAlive = false
  const webResponse =
    earlyResponse ?? (await callHandler(request, connectionClosed.signal, handler, maxBytes))
  response.writeHead(webResponse.status, { ...Object.fromEntries(webResponse.headers), ...headers })
  if (webResponse.body === null) response.end()
  else {
    response.flushHeaders()
    await pipeBody(webResponse.body, response)
  }
}
