import { definedOnly } from "../../domain/objects.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { asObject, asString, type JsonObject } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { McpClientError } from "./McpClientError.ts"
import { type McpClientLike, withSignal } from "./McpClientLike.ts"

/** The `MCPTransport` of the AI SDK. */
export interface AiSdkTransport {
  start(): Promise<void>
  send(message: JsonObject, options?: { signal?: AbortSignal }): Promise<void>
  close(): Promise<void>
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JsonObject) => void
}

const defaultRevision = "2025-11-25"

const requireString = (params: JsonObject, member: string): string => {
  const value = asString(params[member])
  if (value === undefined) throw new McpClientError(`params.${member}: expected a string`, jsonRpcCodes.invalidParams)
  return value
}

const handleRequest = async (client: McpClientLike, method: string, params: JsonObject): Promise<JsonObject> => {
  const cursor = asString(params["cursor"])
  switch (method) {
    case "initialize":
      // The requested revision is accepted: all with `initialize` share these shapes.
      return definedOnly({
        protocolVersion: asString(params["protocolVersion"]) ?? defaultRevision,
        capabilities: client.getServerCapabilities(),
        serverInfo: client.getServerVersion(),
        instructions: client.getInstructions()
      })
    case "ping":
      return client.ping()
    case "tools/list":
      return client.listTools({ cursor })
    case "tools/call":
      return client.callTool({ name: requireString(params, "name"), arguments: { ...asObject(params["arguments"]) } })
    case "resources/list":
      return client.listResources({ cursor })
    case "resources/read":
      return client.readResource({ uri: requireString(params, "uri") })
    default:
      throw new McpClientError(`Method not found: ${method}`, jsonRpcCodes.methodNotFound)
  }
}

/**
 * Makes a transport of the AI SDK, for `createMCPClient({ transport })`. It handles requests in this process.
 * The AI SDK cancels with a signal instead of a message, and does not receive notifications. Closing the
 * transport aborts its calls; the client stays open.
 */
export const makeAiSdkTransport = (client: McpClientLike): AiSdkTransport => {
  const closing = new AbortController()
  const transport: AiSdkTransport = {
    start: async () => undefined,
    send: async (message, { signal } = {}) => {
      if (closing.signal.aborted) throw McpClientError.closed("the transport is closed")
      respond(message, signal).catch(report)
    },
    close: async () => {
      if (closing.signal.aborted) return
      closing.abort(McpClientError.closed("the transport is closed"))
      transport.onclose?.()
    }
  }
  const report = (error: unknown) => transport.onerror?.(error instanceof Error ? error : new Error(String(error)))
  const respond = async ({ id, method, params }: JsonObject, signal: AbortSignal | undefined) => {
    const isRequest = (typeof id === "string" || typeof id === "number") && typeof method === "string"
    if (!isRequest) return
    const stop = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
    const outcome = await handleRequest(withSignal(client, stop), method, asObject(params)).then(
      (result) => ({ result }),
      (error: unknown) => {
        const code = error instanceof McpClientError ? error.code : jsonRpcCodes.internalError
        return { error: { code, message: errorMessage(error) } }
      }
    )
    // An aborted request expects no response.
    if (!stop.aborted) transport.onmessage?.({ jsonrpc: "2.0", id, ...outcome })
  }
  return transport
}
