import { Effect } from "effect"
import { mcpFeature } from "../../../../domain/model/messages/mcp.ts"
import { badRequest, type ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import type { PageCommand, PageReplies, PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import type { Operator } from "../../../shared/page/PageSource.ts"
import type { WatchedServer } from "../WatchedServer.ts"
import { requestComputer } from "./computerRequests.ts"
import type { ComputerName } from "../../../../domain/model/ids.ts"

type ComputerCommand = Extract<PageCommand, { readonly computer: ComputerName }>

/** Fetches the tools of a Computer, and whether it serves requests to its MCP servers. */
export const getTools = (server: WatchedServer, operator: Operator, command: ComputerCommand) =>
  requestComputer(
    server,
    operator,
    command,
    ({ calls }) => calls.getTools,
    (base): typeof base & { readonly features: ReadonlyArray<string> } => ({ ...base, features: [mcpFeature] })
  )

/**
 * Sends a request to the MCP servers of a Computer. The list is asked for only where the Computer announces these requests,
 * so the page knows no server of another implementation.
 */
export const sendMcpRequest = Effect.fnUntraced(function* (
  server: WatchedServer,
  operator: Operator,
  command: PageCommandOf<"SendMcpRequest">
): Effect.fn.Return<PageReplies["SendMcpRequest"], ProtocolError> {
  const { method, params, server: id } = command
  if (method === "servers/list") {
    const { features = [] } = yield* getTools(server, operator, command)
    if (!features.includes(mcpFeature)) return { result: { servers: [] } }
  }
  const { failure, result = {} } = yield* requestComputer(
    server,
    operator,
    command,
    ({ calls }) => calls.mcp,
    (base) => ({ ...base, method, params, ...definedOnly({ server: id }) })
  )
  return failure === undefined ? { result } : yield* badRequest(failure.message)
})
