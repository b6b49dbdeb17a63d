import type { McpSessionError } from "../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"

const codeOf = ({ code, reason }: McpSessionError): number => {
  switch (reason) {
    case "protocol":
      return code ?? jsonRpcCodes.internalError
    case "unauthorized":
      return 401
    case "forbidden":
      return 403
    case "unsupported":
      return jsonRpcCodes.methodNotFound
    case "closed":
    case "unavailable":
      return jsonRpcCodes.connectionClosed
  }
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
    return new McpClientError(failure.message, codeOf(failure), { cause: failure })
  }

  static closed(message: string): McpClientError {
    return new McpClientError(message, jsonRpcCodes.connectionClosed)
  }

  static timedOut(milliseconds: number): McpClientError {
    return new McpClientError(`request timeout after ${milliseconds} ms`, jsonRpcCodes.requestTimeout)
  }

  static invalidResponse(what: string): McpClientError {
    return new McpClientError(what, jsonRpcCodes.internalError)
  }
}

/** The error of an aborted request: the signal's reason if it is an error, as with `fetch`. */
export const abortReasonOf = ({ reason }: AbortSignal): Error =>
  reason instanceof Error
    ? reason
    : new McpClientError(`the request was aborted: ${String(reason)}`, jsonRpcCodes.requestTimeout, { cause: reason })
