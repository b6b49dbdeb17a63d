import { Effect, PubSub, Stream } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
import { packageVersion } from "../../domain/packageVersion.ts"
import {
  isWatched,
  type McpSessionError,
  protocolFailure,
  sessionError,
  type McpCallOptions,
  type McpChange,
  type McpInfo,
  type McpProgress,
  type McpSession
} from "../ports/McpSession.ts"

const noResources = Effect.fail(sessionError("unsupported", "this session has no resources"))

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

/** A tool of an in-process session. */
export interface SessionTool {
  /** The tool as `tools/list` returns it. */
  readonly definition: JsonObject & { readonly name: string }
  /** Runs a call and gives its MCP result; a failed tool sets `isError`. Interruption cancels the call. */
  readonly run: (
    params: JsonObject,
    context: {
      readonly progress: (progress: McpProgress) => Effect.Effect<void>
      /** Asks the user of the call. Declined where no responder can answer. */
      readonly ask: (request: InputRequest) => Effect.Effect<InputAnswer>
    }
  ) => Effect.Effect<JsonObject, McpSessionError>
}

/** The context of a tool in this process. */
export const toToolContext = ({
  onProgress = () => Effect.void,
  responder
}: McpCallOptions): Parameters<SessionTool["run"]>[1] => ({
  progress: onProgress,
  ask: (request) =>
    responder?.modes.includes(request.mode) === true ? responder.answer(request) : Effect.succeed({ action: "decline" })
})

/** Makes a session of a fixed list of tools in this process, for `computerLayer({ sessions })` and `publishHttp`. */
export const makeToolsSession = ({
  instructions,
  name,
  tools
}: {
  readonly name: string
  readonly instructions?: string
  readonly tools: ReadonlyArray<SessionTool>
}): McpSession => {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]))
  return {
    ...toolsOnlySession(name, instructions),
    listTools: () => Effect.succeed({ items: tools.map(({ definition }) => definition), nextCursor: undefined }),
    callTool: (tool, params, options = {}) =>
      byName.get(tool)?.run(params, toToolContext(options)) ?? Effect.fail(toolNotFoundError(tool)),
    watch: () => Effect.succeed(Stream.never),
    ping: Effect.void,
    closed: Effect.never
  }
}

/** Makes the function that watches the changes of a hub. */
export const watchHub =
  (hub: PubSub.PubSub<McpChange>): McpSession["watch"] =>
  (wanted) =>
    Effect.map(PubSub.subscribe(hub), (subscription) =>
      Stream.filter(Stream.fromSubscription(subscription), (change) => isWatched(wanted, change))
    )
