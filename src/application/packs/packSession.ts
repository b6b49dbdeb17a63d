import { Effect, PubSub, type Scope, Stream, SubscriptionRef } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { isWatched, type McpChange, type McpSession } from "../ports/McpSession.ts"
import type { PackFailure } from "../ports/PackLoader.ts"
import { noTool, toolsOnly } from "../toolsOnly.ts"
import type { PackBusy, PackTimeout } from "./PackCalls.ts"
import type { HostedTool, PackTable } from "./packTable.ts"

const failed = (text: string): JsonObject => ({ content: [{ type: "text", text }], isError: true })

/** What went wrong, in words a model can act on. */
const spell = (failure: PackFailure | PackTimeout | PackBusy): string => {
  const problems = failure._tag === "PackFailure" ? (failure.problems ?? []) : []
  if (problems.length === 0) return failure.message
  const lines = problems.map(({ loc, msg }) => {
    const where = loc.filter((part) => part !== "body").join(".")
    return `\n- ${where === "" ? msg : `${where}: ${msg}`}`
  })
  return `The tool was not called: its arguments do not fit.${lines.join("")}`
}

/** Do two tables list the same tools? */
const isSameList = (one: PackTable, other: PackTable): boolean => {
  const list = ({ tools }: PackTable) => JSON.stringify([...tools.values()].map(({ listed }) => listed))
  return list(one) === list(other)
}

/** All tools of all packs as one MCP peer. */
export const packSession = Effect.fnUntraced(function* (
  tables: SubscriptionRef.SubscriptionRef<PackTable>
): Effect.fn.Return<McpSession, never, Scope.Scope> {
  const hub = yield* Effect.acquireRelease(PubSub.sliding<McpChange>(1), PubSub.shutdown)
  yield* SubscriptionRef.changes(tables).pipe(
    Stream.changesWith(isSameList),
    // The first one is how it looks now.
    Stream.drop(1),
    Stream.runForEach(() => PubSub.publish(hub, { _tag: "ToolsChanged" })),
    Effect.forkScoped({ startImmediately: true })
  )
  const find = (name: string): HostedTool | undefined => SubscriptionRef.getUnsafe(tables).tools.get(name)
  return {
    ...toolsOnly("a2c-tools"),
    listTools: () =>
      Effect.map(SubscriptionRef.get(tables), ({ tools }) => ({
        items: [...tools.values()].map(({ listed }) => listed),
        nextCursor: undefined
      })),
    callTool: (name, args, { onProgress = () => Effect.void } = {}) =>
      Effect.suspend(() => {
        const tool = find(name)
        if (tool === undefined) return Effect.fail(noTool(name))
        const call = { tool: tool.original, args, form: false, files: {} }
        return Effect.catch(tool.pack.call(call, onProgress), (failure) =>
          Effect.succeed(failed(spell(failure)))
        )
      }),
    watch: (wanted) =>
      Effect.map(PubSub.subscribe(hub), (subscription) =>
        Stream.filter(Stream.fromSubscription(subscription), (change) => isWatched(wanted, change))
      ),
    ping: Effect.void,
    ended: Effect.never
  }
})
