import { Data } from "effect"
import type { PackBusyError, PackTimeoutError } from "../../../application/packs/RunningPack.ts"
import type { PackError } from "../../../application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type ParamsProblem, paramsProblem } from "../../../domain/packs/PackManifest.ts"

/** An answer as it is sent, whole. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A request cannot be served; `reply` says why to its client. */
export class RequestRejected extends Data.TaggedError("RequestRejected")<{ readonly reply: Reply }> {}

/** The connection ended under way: nobody is there to be answered. */
export class ClientDisconnected extends Data.TaggedError("ClientDisconnected")<{}> {}

/** What a call tells may be private, and is true only now. */
const defaultHeaders = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  "X-Content-Type-Options": "nosniff"
}

/** Answers with JSON. */
export const jsonReply = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {}
): Reply => ({ status, headers: { ...defaultHeaders, ...headers }, body: JSON.stringify(value) })

/** Answers with an error in the form that clients of the original parse. */
export const errorReply = (
  status: number,
  detail: string | ReadonlyArray<ParamsProblem>,
  headers: Readonly<Record<string, string>> = {}
): Reply => jsonReply(status, { detail }, headers)

/** Refuses a request with such an error. */
export const reject = (status: number, detail: string | ReadonlyArray<ParamsProblem>): RequestRejected =>
  new RequestRejected({ reply: errorReply(status, detail) })

/** What a bug is answered with: the log says more. */
export const internalErrorReply: Reply = errorReply(500, "Internal Server Error")

/** How soon who was too many may try again, in seconds: calls usually end within some. */
const retryAfter = { "Retry-After": "2" }

/** Refuses what would be too much at once. */
export const busyReply = (message: string): Reply => errorReply(503, message, retryAfter)

/** Answers with what a call gave: its content with every block as MCP has it, and what else there is of its result. */
export const resultReply = ({ content = [], isError, structuredContent }: JsonObject): Reply =>
  jsonReply(200, {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError === true && { isError })
  })

const packErrorReply = ({ reason, message, problems }: PackError): Reply => {
  switch (reason) {
    case "invalid_params":
      return errorReply(422, problems ?? [paramsProblem(message)])
    case "unknown_tool":
      return errorReply(404, message)
    case "failed":
      return errorReply(500, message)
    case "crashed":
      return errorReply(502, message)
    case "unusable":
      return errorReply(503, message, retryAfter)
  }
}

/** Says what became of a call that gave no result. */
export const callErrorReply = (error: PackError | PackTimeoutError | PackBusyError): Reply => {
  switch (error._tag) {
    case "PackError":
      return packErrorReply(error)
    case "PackTimeoutError":
      return errorReply(504, error.message)
    case "PackBusyError":
      return busyReply(error.message)
  }
}
