import { Data } from "effect"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { definedOnly } from "../../../domain/objects.ts"

/** A JSON-RPC error response; the SDK reads `code`, `message` and `data`. */
export class JsonRpcError extends Data.TaggedError("JsonRpcError")<{
  readonly code: number
  readonly message: string
  readonly data?: JsonObject
}> {}

export const toJsonRpcError = ({ code, data, reason, message }: McpSessionError): JsonRpcError => {
  if (reason === "unsupported") return new JsonRpcError({ code: jsonRpcCodes.methodNotFound, message })
  return new JsonRpcError({ code: code ?? jsonRpcCodes.internalError, message, ...definedOnly({ data }) })
}

export const jsonRpcError = (code: keyof typeof jsonRpcCodes, message: string) =>
  new JsonRpcError({ code: jsonRpcCodes[code], message })
