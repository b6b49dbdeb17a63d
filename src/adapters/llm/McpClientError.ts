import type { McpSessionError } from "../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import type { McpToolResult } from "./mcpTypes.ts"
import { modelTextOf } from "./modelContent.ts"

/** The codes of failures without a code of the peer. */
const codes: { readonly [R in McpSessionError["reason"]]: number } = {
  protocol: jsonRpcCodes.internalError,
  unauthorized: 401,
  forbidden: 403,
  unsupported: jsonRpcCodes.methodNotFound,
  closed: jsonRpcCodes.connectionClosed,
  unavailable: jsonRpcCodes.connectionClosed
}

/** Why a request has no result, for programs without Effect. A failed tool is a result instead. */
export class McpClientError extends Error {
  override readonly name = "McpClientError"
  /**
   * The JSON-RPC code of the peer, or one of these:
   *
   * - −32000: the session is closed or unavailable
   * - −32001: timeout or abort
   * - −32601: the peer does not support the request
   * - −32603: the response is invalid
   * - 401, 403: the peer denied access
   */
  readonly code: number

  constructor(message: string, code: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  static fromFailure(failure: McpSessionError): McpClientError {
    const { code, message, reason } = failure
    return new McpClientError(message, (reason === "protocol" ? code : undefined) ?? codes[reason], { cause: failure })
  }

  static closed(message: string): McpClientError {
    return new McpClientError(message, jsonRpcCodes.connectionClosed)
  }
}

/** The error of an aborted request: the signal's reason if it is an error, as with `fetch`. */
export const abortReasonOf = ({ reason }: AbortSignal): Error =>
  reason instanceof Error
    ? reason
    : new McpClientError(`the request was aborted: ${String(reason)}`, jsonRpcCodes.requestTimeout, { cause: reason })

/** A failed tool, for frameworks whose tools throw. The message is the text of the result. */
export class McpToolError extends Error {
  override readonly name = "McpToolError"
  /** The result with `isError`, as the tool returned it. */
  readonly result: McpToolResult

  constructor(tool: string, result: McpToolResult) {
    super(modelTextOf(result) || `tool '${tool}' failed`)
    this.result = result
  }
}
