import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../json.ts"
import { ProtocolError } from "../../model/ProtocolError.ts"

/** Encodes an error for an acknowledgement: flat, without an envelope (spec §4.2). */
export const encodeProtocolError = ({ code, details, extra, message }: ProtocolError): JsonObject => ({
  code,
  message,
  ...extra,
  ...(details !== undefined && { details })
})

const isFlatError = (value: unknown): value is JsonObject & { code: number; message: string } =>
  isJsonObject(value) && Number.isInteger(value["code"]) && typeof value["message"] === "string"

/** Decodes the error of an acknowledgement, flat or in the older nested envelope; `undefined` for other values. */
export const decodeProtocolError = (value: unknown): ProtocolError | undefined => {
  if (isJsonObject(value) && isFlatError(value["error"])) return decodeProtocolError(value["error"])
  if (!isFlatError(value)) return undefined
  const { code, details, message, ...extra } = value
  return new ProtocolError({ code, message, extra, ...(isJsonObject(details) && { details }) })
}

/** Encodes the acknowledgement of a join or a leave: `(true, null)` or `(false, reason)` (spec §3.2). */
export const encodeMembershipAck = (
  outcome: Result.Result<unknown, { readonly message: string }>
): readonly [boolean, string | null] =>
  Result.match(outcome, { onSuccess: () => [true, null], onFailure: ({ message }) => [false, message] })

/** Decodes the acknowledgement of a join or a leave: two values, or one array of two. */
export const decodeMembershipAck = (values: ReadonlyArray<unknown>): Result.Result<void, string> => {
  const [first, second] = values
  if (Array.isArray(first)) return decodeMembershipAck(first)
  if (first === true) return Result.succeed(undefined)
  if (first === false) return Result.fail(typeof second === "string" ? second : "rejected without a reason")
  return Result.fail(decodeProtocolError(first)?.message ?? "invalid acknowledgement")
}
