import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { McpClientError } from "./McpClientError.ts"
import { type McpClientLike, stoppedBy } from "./mcpClient.ts"

/** The `MCPTransport` of the AI SDK by its shape. */
export interface AiSdkTransport {
  start(): Promise<void>
  send(message: JsonObject, options?: { signal?: AbortSignal }): Promise<void>
  close(): Promise<void>
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JsonObject) => void
}

interface Request {
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
}

/** The revision we speak with who names none. */
const usualRevision = "2025-11-25"

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined)

const readRequest = ({ id, method, params }: JsonObject): Request | undefined =>
  (typeof id === "string" || typeof id === "number") && typeof method === "string"
    ? { id, method, params: isJsonObject(params) ? params : {} }
    : undefined

const needed = (params: JsonObject, member: string): string => {
  const value = textOf(params[member])
  if (value === undefined) throw new McpClientError(`params.${member}: expected a string`, -32602)
  return value
}

/** Every revision that begins with `initialize` has the shapes used here, so the one that is asked for is spoken. */
const initialized = (client: McpClientLike, asked: string | undefined): JsonObject => {
  const instructions = client.getInstructions()
  return {
    protocolVersion: asked ?? usualRevision,
    capabilities: client.getServerCapabilities(),
    serverInfo: client.getServerVersion(),
    ...(instructions !== undefined && { instructions })
  }
}

const answerTo = async (client: McpClientLike, { method, params }: Request): Promise<JsonObject> => {
  const cursor = textOf(params["cursor"])
  switch (method) {
    case "initialize":
      return initialized(client, textOf(params["protocolVersion"]))
    case "ping":
      return client.ping()
    case "tools/list":
      return client.listTools({ cursor })
    case "tools/call": {
      const args = params["arguments"]
      return client.callTool({
        name: needed(params, "name"),
        arguments: isJsonObject(args) ? { ...args } : undefined
      })
    }
    case "resources/list":
      return client.listResources({ cursor })
    case "resources/read":
      return client.readResource({ uri: needed(params, "uri") })
    default:
      throw new McpClientError(`Method not found: ${method}`, -32601)
  }
}

const errorOf = (error: unknown) => ({
  code: error instanceof McpClientError ? error.code : -32603,
  message: error instanceof Error ? error.message : String(error)
})

/**
 * An MCP client as a transport of the AI SDK, for `createMCPClient({ transport })`: its requests are answered in this
 * process. The AI SDK cancels by a signal beside the message, which stops the tool. It hears no notifications, so none
 * are sent. Closing the transport stops the calls made through it; the client goes on.
 */
export const aiSdkTransportOf = (client: McpClientLike): AiSdkTransport => {
  const open = new AbortController()
  const transport: AiSdkTransport = {
    start: async () => undefined,
    send: async (message, { signal } = {}) => {
      if (open.signal.aborted) throw McpClientError.closed("the transport is closed")
      const request = readRequest(message)
      if (request !== undefined) respond(request, signal).catch(report)
    },
    close: async () => {
      if (open.signal.aborted) return
      open.abort(McpClientError.closed("the transport is closed"))
      transport.onclose?.()
    }
  }
  const report = (error: unknown) =>
    transport.onerror?.(error instanceof Error ? error : new Error(String(error)))
  const respond = async (request: Request, signal: AbortSignal | undefined) => {
    const stop = signal === undefined ? open.signal : AbortSignal.any([open.signal, signal])
    const answer = await answerTo(stoppedBy(client, stop), request).then(
      (result) => ({ result }),
      (error: unknown) => ({ error: errorOf(error) })
    )
    // Nobody waits any more for the answer to a request that was given up.
    if (!stop.aborted) transport.onmessage?.({ jsonrpc: "2.0", id: request.id, ...answer })
  }
  return transport
}
