import { Duration, Effect, Stream } from "effect"
import { toMcpResult, toMcpTool } from "../../domain/tools/mcpConversion.ts"
import type { McpSession } from "../ports/McpSession.ts"
import { toolsOnlySession } from "../shared/toolsOnlySession.ts"
import { Computer } from "./Computer.ts"

/** How long a call may take at most; whoever asks has a deadline of its own. */
const maxCallDuration = Duration.hours(1)

/**
 * The tools of a Computer as one MCP peer, under the names the Computer gives them: for whoever takes tools by another
 * way than an office. Calls need consent as those of an Agent do; `asker` says to the owner for whom.
 */
export const makeComputerMcpSession = Effect.fnUntraced(function* (
  requester: string
): Effect.fn.Return<McpSession, never, Computer> {
  const { callTool, catalogue, changes } = yield* Computer
  return {
    ...toolsOnlySession("a2c-computer"),
    listTools: () =>
      Effect.map(catalogue, ({ entries }) => ({
        items: [...entries].map(([name, { tool }]) => toMcpTool(name, tool)),
        nextCursor: undefined
      })),
    callTool: (tool, params) =>
      Effect.map(callTool({ tool, params, requester, timeout: maxCallDuration }), toMcpResult),
    watch: ({ tools }) =>
      Effect.map(catalogue, (now) => {
        if (!tools) return Stream.never
        let last = now
        return changes.pipe(
          Stream.mapEffect(() => catalogue),
          Stream.filter((next) => {
            const isChanged = next !== last
            last = next
            return isChanged
          }),
          Stream.map(() => ({ _tag: "ToolsChanged" }) as const)
        )
      }),
    ping: Effect.void,
    closed: Effect.never
  }
})
