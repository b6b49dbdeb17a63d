import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../json.ts"
import { errorCodes, ProtocolError } from "../../model/ProtocolError.ts"

/** Encodes an error for an acknowledgement: flat, without an envelope (spec §4.2). */
export const encodeFlatError = ({ code, details, extra, message }: ProtocolError): JsonObject => ({
  code,
  message,
  ...extra,
  ...(details !== undefined && { details })
})

/** As {@link encodeFlatError}, with the names of this line for errors about MCP servers (spec §10.5). */
export const encodeProtocolError = (error: ProtocolError): JsonObject => {
  const { code, message, mcp_server: server, ...rest } = encodeFlatError(error)
  if (server === undefined) return encodeFlatError(error)
  const ownCode = code === errorCodes.mcpServerNotFound ? errorCodes.notFound : code
  return { code: ownCode, message, mcp_server_name: server, ...rest }
}

const isFlatError = (value: unknown): value is JsonObject & { code: number; message: string } =>
  isJsonObject(value) && Number.isSafeInteger(value["code"]) && typeof value["message"] === "string"

/**
 * Decodes the error of an acknowledgement, flat or in the older nested envelope, with the names of any line; `undefined`
 * for other values. An object with content is a tool result, whose other members are those of its MCP server.
 */
export const decodeAckError = (value: unknown): ProtocolError | undefined => {
  if (!isJsonObject(value) || (value["content"] ?? null) !== null) return undefined
  if (isFlatError(value["error"])) return decodeAckError(value["error"])
  if (!isFlatError(value)) return undefined
  const { code, details, mcp_server_name: server, message, ...rest } = value
  const extra = server === undefined ? rest : { mcp_server: server, ...rest }
  const isUnknownServer = code === errorCodes.notFound && "mcp_server" in extra
  return new ProtocolError({
    code: isUnknownServer ? errorCodes.mcpServerNotFound : code,
    message,
    extra,
    ...(isJsonObject(details) && { details })
  })
}

/** Encodes the acknowledgement of a join or a leave: `(true, null)` or `(false, reason)` (spec §3.2). */
export const encodeMembershipAck = (
  outcome: Result.Result<unknown, { readonly message: string }>
): ReadonlyArray<unknown> =>
  Result.match(outcome, { onSuccess: () => [true, null], onFailure: ({ message }) => [false, message] })

/** Decodes the acknowledgement of a join or a leave: two values, or one array of two. */
export const decodeMembershipAck = (values: ReadonlyArray<unknown>): Result.Result<void, string> => {
  const [first, second] = values
  if (Array.isArray(first)) return decodeMembershipAck(first)
  if (first === true) return Result.succeed(undefined)
  if (first === false) return Result.fail(typeof second === "string" ? second : "rejected without a reason")
  return Result.fail(decodeAckError(first)?.message ?? "invalid acknowledgement")
}
