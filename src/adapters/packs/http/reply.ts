import { Data } from "effect"
import type { PackError } from "../../../application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import type { HttpReply } from "../../http/messages.ts"

export class RequestRejected extends Data.TaggedError("RequestRejected")<{ readonly reply: HttpReply }> {}

/** Results can be private and change over time. */
const defaultHeaders = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff"
}

export const toolJsonReply = (status: number, value: unknown, headers: HttpReply["headers"] = {}): HttpReply => ({
  status,
  headers: { ...defaultHeaders, ...headers },
  body: JSON.stringify(value)
})

type Detail = string | ReadonlyArray<ParamsProblem>

/** Makes an error reply in the form of FastAPI, which clients of the original parse. */
export const toolErrorReply = (status: number, detail: Detail, headers?: HttpReply["headers"]): HttpReply =>
  toolJsonReply(status, { detail }, headers)

export const reject = (status: number, detail: Detail): RequestRejected =>
  new RequestRejected({ reply: toolErrorReply(status, detail) })

export const rejectParams = (...problem: Parameters<typeof paramsProblem>): RequestRejected =>
  reject(422, [paramsProblem(...problem)])

export const emptyToolReply: HttpReply = { status: 204, headers: {}, body: "" }

export const busyReply = (message: string): HttpReply => toolErrorReply(503, message, { "Retry-After": "2" })

export const resultReply = ({ content = [], isError, structuredContent }: JsonObject): HttpReply =>
  toolJsonReply(200, {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError })
  })

const packErrorStatuses = { unknown_tool: 404, failed: 500, crashed: 502, timed_out: 504 } as const

export const callErrorReply = ({ message, problems, reason }: PackError): HttpReply => {
  if (reason === "busy" || reason === "unusable") return busyReply(message)
  if (reason === "invalid_params") return toolErrorReply(422, problems ?? [paramsProblem(message)])
  return toolErrorReply(packErrorStatuses[reason], message)
}

/** Idle timeout of a connection without an in-flight call. */
export const socketTimeoutMillis = 60_000
