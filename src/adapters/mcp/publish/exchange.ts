import type { IncomingMessage, ServerResponse } from "node:http"
import { bodyFault } from "../../../domain/json.ts"

/** Answers a request of the web's kind; its signal is aborted once its connection or its answer has ended. */
export type Answer = (request: Request, body: unknown) => Promise<Response>

/** An error as it is answered before anything is known of the request. */
export const refused = (
  status: number,
  code: number,
  message: string,
  headers: Record<string, string> = {}
) => Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status, headers })

/** The text of a body, or undefined when it is larger than allowed, in bytes. */
const readText = async (request: IncomingMessage, largest: number): Promise<string | undefined> => {
  if (Number(request.headers["content-length"] ?? 0) > largest) return undefined
  const chunks: Array<Buffer> = []
  let size = 0
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue
    size += chunk.byteLength
    if (size > largest) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString("utf8")
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const toWeb = ({ headers, method = "GET", url = "/" }: IncomingMessage, signal: AbortSignal) => {
  const entries = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value] as [string, string]]
  )
  return new Request(new URL(url, "http://localhost"), { method, headers: entries, signal })
}

const answerTo = async (
  request: IncomingMessage,
  signal: AbortSignal,
  answer: Answer,
  largest: number
): Promise<Response> => {
  if (request.method !== "POST") return answer(toWeb(request, signal), undefined)
  const text = await readText(request, largest)
  if (text === undefined) {
    return refused(413, -32000, `A message may have no more than ${largest} bytes`, { Connection: "close" })
  }
  const body = parse(text)
  if (body === undefined) return refused(400, -32700, "The body is not JSON")
  const fault = bodyFault(body)
  return fault === undefined
    ? answer(toWeb(request, signal), body)
    : refused(400, -32600, `The body cannot be a message: ${fault}`)
}

const drained = (response: ServerResponse) =>
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
const pour = async (body: ReadableStream<Uint8Array>, response: ServerResponse) => {
  const reader = body.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  response.on("close", cancel)
  if (response.destroyed) cancel()
  for (;;) {
    const { done, value } = await reader.read()
    if (done || response.destroyed) break
    if (!response.write(value)) await drained(response)
  }
  response.end()
}

/** What an exchange is made of. */
interface Exchange {
  readonly answer: Answer
  /** Given when the answer is known before the body has been read; then nobody reads it. */
  readonly early: Response | undefined
  /** Headers of every answer. */
  readonly headers: Readonly<Record<string, string>>
  /** How large a body may be, in bytes. */
  readonly largest: number
}

/** Has a request of Node's kind answered by one that knows those of the web. */
export const exchange = async (
  request: IncomingMessage,
  response: ServerResponse,
  { answer, early, headers, largest }: Exchange
): Promise<void> => {
  const over = new AbortController()
  response.on("close", () => over.abort())
  if (early !== undefined) response.shouldKeepAlive = false
  const answered = early ?? (await answerTo(request, over.signal, answer, largest))
  response.writeHead(answered.status, { ...Object.fromEntries(answered.headers), ...headers })
  if (answered.body === null) response.end()
  else {
    response.flushHeaders()
    await pour(answered.body, response)
  }
}
