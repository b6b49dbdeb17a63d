import { Data } from "effect"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"

/** A JSON-RPC error response; the SDK reads `code` and `message`. */
export class JsonRpcError extends Data.TaggedError("JsonRpcError")<{
  readonly code: number
  readonly message: string
}> {}

export const toJsonRpcError = ({ code, reason, message }: McpSessionError): JsonRpcError => {
  if (reason === "unsupported") return new JsonRpcError({ code: jsonRpcCodes.methodNotFound, message })
  return new JsonRpcError({ code: code ?? jsonRpcCodes.internalError, message })
}

export const jsonRpcError = (code: keyof typeof jsonRpcCodes, message: string) =>
  new JsonRpcError({ code: jsonRpcCodes[code], message })
