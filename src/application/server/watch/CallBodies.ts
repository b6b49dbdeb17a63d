import { Result } from "effect"
import { makeKeptValues } from "../../../domain/blobs/keptValues.ts"
import { asObject, isJsonObject } from "../../../domain/json.ts"
import type { PageReplies } from "../../../domain/page/PageCommand.ts"
import type { Body } from "../../ports/Body.ts"
import { isSecretName } from "../../../domain/text/secretNames.ts"
import type { CompletedCall } from "../observability/observers.ts"

/** Options of the capture of arguments and results. */
export interface CallBodyOptions {
  /** Characters of all captured texts together, 8 Mi by default. The oldest ones are dropped. */
  readonly maxBytes?: number
}

const defaultMaxBytes = 8 * 1024 * 1024

/** Characters of one captured text. */
export const maxCapturedLength = 64 * 1024

/** Larger bodies, in bytes, are not captured: their parse would delay other members. */
const maxParsedBytes = 256 * 1024

/** Characters of a text that is indented. The indentation of a deep value takes many times its length. */
const maxIndentedLength = 4096

const placeholder = "<redacted>"

/** Replaces the values of members with secret names. The depth of messages bounds the recursion. */
const redactMembers = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(redactMembers)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, isSecretName(name) ? placeholder : redactMembers(member)])
  )
}

/** The arguments of a call. The answer to a question may be a secret that no name marks. */
const selectParams = (value: unknown): unknown => {
  const request = asObject(value)
  if (request["params"] !== undefined) return request["params"]
  return request["approval_id"] !== undefined && "content" in request ? { ...request, content: placeholder } : value
}

/** The JSON text of a part of a body, redacted and truncated. */
const captureText = (body: Body, select: (value: unknown) => unknown): string => {
  const bytes = body.byteLength()
  if (bytes > maxParsedBytes) return `${bytes} bytes, too large to capture`
  const value = body.value()
  if (Result.isFailure(value)) return value.failure.message
  const redacted = redactMembers(select(value.success)) ?? null
  const compact = JSON.stringify(redacted)
  const text = compact.length <= maxIndentedLength ? JSON.stringify(redacted, undefined, 2) : compact
  return text.length <= maxCapturedLength ? text : `${text.slice(0, maxCapturedLength - 1).toWellFormed()}…`
}

export type CallBodies = ReturnType<typeof makeCallBodies>

/** Keeps the arguments and results of the latest calls, redacted, by the ids of the calls. */
export const makeCallBodies = ({ maxBytes = defaultMaxBytes }: CallBodyOptions) => {
  const bodies = makeKeptValues<PageReplies["GetCallBody"]>(
    ({ params, result }) => params.length + result.length,
    maxBytes
  )
  return {
    capture: (id: string, { outcome, request }: CompletedCall): void => {
      const params = captureText(request, selectParams)
      const result = "_tag" in outcome ? outcome.message : captureText(outcome, (value) => value)
      bodies.put(id, { params, result })
    },
    get: bodies.get,
    clear: () => bodies.removeIf(() => true)
  }
}
