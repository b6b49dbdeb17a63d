import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { LinkClosed, SendFailed } from "../../application/ports/Transport.ts"
import { payloadTooLarge, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"
import { RawBody } from "./RawBody.ts"

/** True when the JSON text of a body has at most `maxBytes` bytes, and when it has none. */
export const fitsBytes = (body: Body, maxBytes: number): boolean => {
  if (maxBytes === Number.POSITIVE_INFINITY) return true
  if (body instanceof RawBody) return body.byteLength() <= maxBytes
  const text = Result.getOrElse(body.text(), () => "")
  // Encodes the text only when the cheap bounds do not decide.
  return text.length * 3 <= maxBytes || (text.length <= maxBytes && encodeUtf8(text).length <= maxBytes)
}

/** The reason that a link cannot send a body, or `undefined` when it can. */
export const sendError = (body: Body, maxBytes: number, closeReason: string | undefined) => {
  if (closeReason !== undefined) return new LinkClosed({ reason: closeReason })
  const error = serializationError(body) ?? (fitsBytes(body, maxBytes) ? undefined : payloadTooLarge(maxBytes))
  return error && new SendFailed({ error })
}

/** The error of a body without JSON text. Received bytes always have one. */
export const serializationError = (body: Body): ProtocolError | undefined => {
  if (body instanceof RawBody) return undefined
  const text = body.text()
  return Result.isFailure(text) ? text.failure : undefined
}
