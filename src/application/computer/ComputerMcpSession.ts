import { Duration, Effect, Result } from "effect"
import { isAppOnly } from "../../domain/tools/appTools.ts"
import { publishResult, publishTool } from "../../domain/tools/mcpConversion.ts"
import type { McpSession } from "../ports/McpSession.ts"
import { toolsOnlySession, watchTools } from "../shared/toolsOnlySession.ts"
import { Computer } from "./Computer.ts"

/** Maximum duration of a call; callers set shorter timeouts themselves. */
const maxCallDuration = Duration.hours(1)

/**
 * Exposes the tools of a Computer as one MCP peer, under their names in the office, for clients outside the office,
 * without the tools that only apps call.
 * Calls need consent like those of an Agent; `requester` names the caller in the prompt.
 */
export const makeComputerMcpSession = Effect.fnUntraced(function* (
  requester: string
): Effect.fn.Return<McpSession, never, Computer> {
  const { callTool, catalogue, changes } = yield* Computer
  return {
    ...toolsOnlySession("a2c-computer"),
    listTools: () =>
      Effect.map(catalogue, ({ entries }) => ({
        items: [...entries].flatMap(([name, { tool }]) => {
          const listing = publishTool(name, tool)
          return isAppOnly(tool.meta) || Result.isFailure(listing) ? [] : [listing.success]
        }),
        nextCursor: undefined
      })),
    callTool: (tool, params, { responder } = {}) =>
      Effect.zipWith(
        callTool({ tool, params, requester, responder, timeout: maxCallDuration }),
        catalogue,
        (result, { entries }) => publishResult(result, entries.get(tool)?.tool)
      ),
    watch: watchTools(Effect.succeed(changes), catalogue)
  }
})
