import { Data } from "effect"
import type { PackBusyError, PackTimeoutError } from "../../../application/packs/RunningPack.ts"
import type { PackError } from "../../../application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"

/** A complete HTTP response. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request is rejected with this reply. */
export class RequestRejected extends Data.TaggedError("RequestRejected")<{ readonly reply: Reply }> {}

/** The client disconnected, so no reply is sent. */
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

export const internalErrorReply: Reply = errorReply(500, "Internal Server Error")

/** In seconds. */
const retryAfter = { "Retry-After": "2" }

export const busyReply = (message: string): Reply => errorReply(503, message, retryAfter)

/** Makes the reply for a tool result. */
export const resultReply = ({ content = [], isError, structuredContent }: JsonObject): Reply =>
  jsonReply(200, {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError })
  })

const packErrorStatuses = { unknown_tool: 404, failed: 500, crashed: 502 } as const

/** Makes the reply for a failed call. */
export const callErrorReply = (error: PackError | PackTimeoutError | PackBusyError): Reply => {
  const { message } = error
  if (error._tag === "PackTimeoutError") return errorReply(504, message)
  if (error._tag === "PackBusyError" || error.reason === "unusable") return busyReply(message)
  if (error.reason === "invalid_params") return errorReply(422, error.problems ?? [paramsProblem(message)])
  return errorReply(packErrorStatuses[error.reason], message)
}
