import { asString } from "../json.ts"
import { errorCodes, ProtocolError } from "../model/ProtocolError.ts"

/**
 * Why a blob cannot be read.
 *
 * - `invalid_handle`: this Computer never made the handle
 * - `forbidden`: the content belongs to another Agent, or may not be read
 * - `gone`: the content existed and is no longer kept; the call that gave the handle makes a new one
 * - `range`: the offset is beyond the end
 */
type BlobFailureReason = "invalid_handle" | "forbidden" | "gone" | "range"

/** The error of a rejected request for a blob (4018). */
export const blobNotAccessible = (reason: BlobFailureReason): ProtocolError =>
  new ProtocolError({ code: errorCodes.blobNotAccessible, message: "Blob not accessible", details: { reason } })

const uploadMessages = {
  invalid_upload: "the upload is unknown, has ended, or was idle for too long",
  invalid_declaration: "the first chunk must declare total_size (1 or more) and sha256 (64 hexadecimal digits)",
  range: "the chunk does not continue the upload, or eof does not mark its end",
  too_large: "the content is larger than this Computer accepts",
  busy: "too many uploads are in progress, try again later",
  forbidden: "this Computer accepts no uploads",
  integrity: "the content is not base64, or does not have the declared sha256",
  io_error: "the file cannot be written"
} as const

export const uploadRejected = (reason: keyof typeof uploadMessages): ProtocolError =>
  new ProtocolError({
    code: errorCodes.uploadFailed,
    message: `Upload failed: ${uploadMessages[reason]}`,
    details: { reason }
  })

/** True for an error with this code and this reason in its details. */
const isFailure = (error: unknown, code: number, reason: string): boolean =>
  error instanceof ProtocolError && error.code === code && asString(error.details?.["reason"]) === reason

/** True when a read failed because the content ends before the offset. */
export const isRangeError = (error: unknown): boolean => isFailure(error, errorCodes.blobNotAccessible, "range")

/** True when a later attempt of an upload may be accepted. */
export const isBusyError = (error: unknown): boolean => isFailure(error, errorCodes.uploadFailed, "busy")
