/** Error codes of JSON-RPC, of MCP, and of the MCP SDKs. */
export const jsonRpcCodes = {
  /** The SDKs' code for a closed connection, and for HTTP requests that they reject early. */
  connectionClosed: -32000,
  /** The SDKs' code for a timeout, and for an unknown session over HTTP. */
  requestTimeout: -32001,
  /** Of MCP up to 2025-11-25. The SDK of a server sends `invalidParams` instead. */
  resourceNotFound: -32002,
  missingHeader: -32020,
  missingClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
  /** A call needs pages that the user opens first (2025-11-25). */
  urlElicitationRequired: -32042,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  parseError: -32700
} as const
