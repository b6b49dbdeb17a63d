import { Effect } from "effect"
import { version } from "../version.ts"
import { McpFailure, type McpInfo, type McpSession } from "./ports/McpSession.ts"

const noResources = Effect.fail(
  new McpFailure({ kind: "unsupported", message: "there are no resources here" })
)

/** What peers of our own that have tools and nothing else have in common, under this name. */
export const toolsOnly = (
  name: string,
  instructions?: string
): Pick<McpSession, "listResources" | "readResource"> & { readonly info: McpInfo } => ({
  info: {
    name,
    version,
    protocolVersion: undefined,
    capabilities: { tools: true, resources: false, subscribe: false },
    instructions
  },
  listResources: () => noResources,
  readResource: () => noResources
})

/** The failure of a call of a tool that is not there, or not any more. */
export const noTool = (name: string): McpFailure =>
  new McpFailure({ kind: "protocol", code: -32602, message: `There is no tool '${name}' (any more)` })
