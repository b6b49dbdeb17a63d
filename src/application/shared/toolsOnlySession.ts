import { Effect, PubSub, type Scope, Stream } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import {
  isWatched,
  type McpSessionError,
  protocolFailure,
  sessionError,
  type McpChange,
  type McpSession
} from "../ports/McpSession.ts"

const noResources = Effect.fail(sessionError("unsupported", "this session has no resources"))

/** The common members of in-process sessions, which never end. */
export type SessionBase = Pick<McpSession, "info" | "listResources" | "readResource" | "ping" | "closed">

/** Makes the common members of in-process sessions that have tools only. */
export const toolsOnlySession = (name: string, instructions?: string): SessionBase => ({
  info: {
    name,
    version: packageVersion,
    protocolVersion: undefined,
    capabilities: { tools: true, resources: false, subscribe: false },
    instructions
  },
  listResources: () => noResources,
  readResource: () => noResources,
  ping: Effect.void,
  closed: Effect.never
})

/** The error of a call to a tool that does not exist, or was removed. */
export const toolNotFoundError = (name: string): McpSessionError => protocolFailure(-32602, `Tool '${name}' not found`)

/** The page of a listing that starts at a cursor, which is the index of its first item. */
export const pageOfListing = (items: ReadonlyArray<JsonObject>, size: number, cursor = "0") => {
  const start = Number(cursor)
  if (!Number.isInteger(start) || start < 0 || start > items.length) {
    return Effect.fail(protocolFailure(-32602, "Invalid cursor"))
  }
  const end = start + size
  const nextCursor = end < items.length ? String(end) : undefined
  return Effect.succeed({ items: items.slice(start, end), nextCursor })
}

/**
 * Makes the function that watches the tools of a session. They have changed when another value of `source` follows one of
 * the `changes`.
 */
export const watchTools =
  (
    changes: Effect.Effect<Stream.Stream<unknown>, never, Scope.Scope>,
    source: Effect.Effect<unknown>
  ): McpSession["watch"] =>
  ({ tools }) =>
    Effect.zipWith(changes, source, (changed, first) => {
      if (!tools) return Stream.never
      let last = first
      return Stream.mapEffect(changed, () => source).pipe(
        Stream.filter((now) => last !== (last = now)),
        Stream.map(() => ({ _tag: "ToolsChanged" }) as const)
      )
    })

/** Makes the function that watches the changes of a hub. */
export const watchHub =
  (hub: PubSub.PubSub<McpChange>): McpSession["watch"] =>
  (wanted) =>
    Effect.map(PubSub.subscribe(hub), (subscription) =>
      Stream.filter(Stream.fromSubscription(subscription), (change) => isWatched(wanted, change))
    )
