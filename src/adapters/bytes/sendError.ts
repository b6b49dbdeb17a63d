import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { LinkClosed, SendFailed } from "../../application/ports/Transport.ts"
import { payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/** Compares the length of a text in UTF-8 with a limit; encodes it only when the cheap bounds do not decide. */
const exceedsBytes = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && encodeUtf8(text).length > bytes)

/** True when the JSON text of a body has at most `maxBytes` bytes, and when it has none. */
export const fitsBytes = (body: Body, maxBytes: number): boolean =>
  Result.match(body.text(), { onFailure: () => true, onSuccess: (text) => !exceedsBytes(text, maxBytes) })

/** The reason that a link cannot send a body, or `undefined` when it can. */
export const sendError = (
  body: Body,
  maxBytes: number,
  closeReason: string | undefined
): LinkClosed | SendFailed | undefined => {
  if (closeReason !== undefined) return new LinkClosed({ reason: closeReason })
  const text = body.text()
  if (Result.isFailure(text)) return new SendFailed({ error: text.failure })
  return fitsBytes(body, maxBytes) ? undefined : new SendFailed({ error: payloadTooLarge(maxBytes) })
}
