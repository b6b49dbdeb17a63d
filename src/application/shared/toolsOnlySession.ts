import { Effect } from "effect"
import { packageVersion } from "../../domain/packageVersion.ts"
import { McpSessionError, type McpInfo, type McpSession } from "../ports/McpSession.ts"

const noResources = Effect.fail(
  new McpSessionError({ reason: "unsupported", message: "there are no resources here" })
)

/** What peers of our own that have tools and nothing else have in common, under this name. */
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

/** The failure of a call of a tool that is not there, or not any more. */
export const toolNotFound = (name: string): McpSessionError =>
  new McpSessionError({ reason: "protocol", code: -32602, message: `There is no tool '${name}' (any more)` })
