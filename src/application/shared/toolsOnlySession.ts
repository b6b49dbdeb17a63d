import { Effect } from "effect"
import { packageVersion } from "../../domain/packageVersion.ts"
import { McpSessionError, type McpInfo, type McpSession } from "../ports/McpSession.ts"

const noResources = Effect.fail(
  new McpSessionError({ reason: "unsupported", message: "this session has no resources" })
)

/** The common members of in-process sessions that have tools only. */
export const toolsOnlySession = (
  name: string,
  instructions?: string
): Pick<McpSession, "listResources" | "readResource"> & { readonly info: McpInfo } => ({
  info: {
    name,
    version: packageVersion,
    protocolVersion: undefined,
    capabilities: { tools: true, resources: false, subscribe: false },
    instructions
  },
  listResources: () => noResources,
  readResource: () => noResources
})

/** The error of a call to a tool that does not exist, or was removed. */
export const toolNotFound = (name: string): McpSessionError =>
  new McpSessionError({ reason: "protocol", code: -32602, message: `Tool '${name}' not found` })
