import type { McpSessionError } from "../../application/ports/McpSession.ts"
import { jsonRpcCodes } from "../mcp/jsonRpcCodes.ts"

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

/** Why a request has no result, as programs without Effect expect it; a tool that failed is a result instead. */
export class McpClientError extends Error {
  override readonly name = "McpClientError"
  /**
   * The peer's own JSON-RPC number, or −32000: the session is over or not there, −32001: no time left or given up,
   * −32601: the peer cannot do this, −32603: the answer is no MCP, 401 and 403: its door refused us.
   */
  readonly code: number

  constructor(message: string, code: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** What a session's failure is to a program without Effect. */
  static fromFailure(failure: McpSessionError): McpClientError {
    return new McpClientError(failure.message, codeOf(failure), { cause: failure })
  }

  /** The session is over, or this client is closed. */
  static closed(message: string): McpClientError {
    return new McpClientError(message, jsonRpcCodes.connectionClosed)
  }

  /** No answer within this many milliseconds. */
  static timedOut(milliseconds: number): McpClientError {
    return new McpClientError(`request timeout after ${milliseconds} ms`, jsonRpcCodes.requestTimeout)
  }

  /** The answer is not what MCP promises. */
  static invalidResponse(what: string): McpClientError {
    return new McpClientError(what, jsonRpcCodes.internalError)
  }
}

/** What a request that was given up fails with: the signal's own reason, as `fetch` does, if that is an error. */
export const abortReasonOf = ({ reason }: AbortSignal): Error =>
  reason instanceof Error
    ? reason
    : new McpClientError(`the request was aborted: ${String(reason)}`, jsonRpcCodes.requestTimeout, {
        cause: reason
      })
