import type { IncomingMessage, ServerResponse } from "node:http"
import { Data, Effect } from "effect"
import type { PackCallError } from "../../../application/packs/RunningPack.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class RequestRejected extends Data.TaggedError("RequestRejected")<{ readonly reply: Reply }> {}

export class ClientDisconnected extends Data.TaggedError("ClientDisconnected")<{}> {}

/** Results can be private and change over time. */
const defaultHeaders = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff"
}

export const jsonReply = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers: { ...defaultHeaders, ...headers },
  body: JSON.stringify(value)
})

/** Makes an error reply in the form of FastAPI, which clients of the original parse. */
export const errorReply = (
  status: number,
  detail: string | ReadonlyArray<ParamsProblem>,
  headers: Readonly<Record<string, string>> = {}
): Reply => jsonReply(status, { detail }, headers)

export const reject = (status: number, detail: string | ReadonlyArray<ParamsProblem>): RequestRejected =>
  new RequestRejected({ reply: errorReply(status, detail) })

export const rejectParams = (...problem: Parameters<typeof paramsProblem>): RequestRejected =>
  reject(422, [paramsProblem(...problem)])

export const emptyReply: Reply = { status: 204, headers: {}, body: "" }

export const busyReply = (message: string): Reply => errorReply(503, message, { "Retry-After": "2" })

export const resultReply = ({ content = [], isError, structuredContent }: JsonObject): Reply =>
  jsonReply(200, {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError })
  })

const packErrorStatuses = { unknown_tool: 404, failed: 500, crashed: 502 } as const

export const callErrorReply = (error: PackCallError): Reply => {
  const { message } = error
  if (error._tag === "PackTimeoutError") return errorReply(504, message)
  if (error._tag === "PackBusyError" || error.reason === "unusable") return busyReply(message)
  if (error.reason === "invalid_params") return errorReply(422, error.problems ?? [paramsProblem(message)])
  return errorReply(packErrorStatuses[error.reason], message)
}

/** Idle timeout of a connection without an in-flight call. */
export const socketTimeoutMillis = 60_000

/** The server drains a rejected body up to this size; above it, a new connection is cheaper. */
const maxDrainBytes = 64 * 1024

/**
 * How long a client that still sends has to read an early reply. An immediate close would reset the connection, and
 * the client would lose the reply.
 */
const lingerTimeout = "1 second"

/** Waits until the response is sent or the connection closes. */
export const responseClosed = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    if (response.closed) return done()
    response.once("close", done)
    return Effect.sync(() => void response.off("close", done))
  })

/** Declared length of a body; undefined when it is chunked. */
export const contentLength = ({ headers }: IncomingMessage): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

/**
 * Sends a reply. While the client still sends, drains the rest of a small body; closes the connection after a large
 * one, once the client has had time to read the reply.
 */
export const sendReply = Effect.fnUntraced(function* (
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers, status }: Reply
) {
  if (response.destroyed) return
  const mustClose = !request.complete && (contentLength(request) ?? Number.POSITIVE_INFINITY) > maxDrainBytes
  response.writeHead(status, {
    ...headers,
    ...(status !== 204 && { "Content-Length": String(Buffer.byteLength(body)) }),
    ...(mustClose && { Connection: "close" })
  })
  if (!mustClose) {
    request.resume()
    response.end(body)
    return
  }
  // `end` would make Node close the connection at once.
  response.write(body)
  yield* Effect.timeoutOrElse(responseClosed(response), {
    duration: lingerTimeout,
    orElse: () => Effect.sync(() => void response.destroy())
  })
})
