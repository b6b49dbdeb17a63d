import { Array, Effect } from "effect"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { computeOnce, definedOnly } from "../../../domain/objects.ts"
import { publishListed } from "../../../domain/tools/mcpConversion.ts"
import type { ListName } from "../../../domain/tools/listings/mcpListings.ts"
import {
  type RepairedReply,
  repairCompletion,
  repairPrompt,
  repairRead,
  withoutRejectedParts
} from "../../../domain/tools/results/repairResult.ts"
import { type McpMethod, type McpPage, type McpSession, McpSessionError } from "../../ports/McpSession.ts"
import { makeListingReport, requestPage } from "./serverListings.ts"

/** Schemas that are remembered; those of the tools that were listed last stay. */
const maxKnownSchemas = 10_000

/** A session whose lists, results and replies every MCP client accepts. */
export interface PublishableSession extends McpSession {
  /** The schema of the results of a tool, as last listed. */
  readonly outputSchemaOf: (tool: string) => JsonObject | undefined
}

const toReply = <A>(reply: RepairedReply<A>): Effect.Effect<A, McpSessionError> =>
  Effect.mapError(
    Effect.fromResult(reply),
    (message) => new McpSessionError({ reason: "protocol", code: jsonRpcCodes.internalError, message })
  )

/**
 * Gives a session without what MCP clients reject. They reject a whole list or reply for one odd part: at most that part is
 * left out. A reply without a meaning is an error.
 */
export const publishableSession = (session: McpSession): PublishableSession => {
  const report = makeListingReport({ server: session.info.name })
  const outputSchemas = new Map<string, JsonObject>()

  const publishOnce = computeOnce((item: JsonObject, list: ListName) => publishListed(list, item))
  const publishItem = (list: ListName, item: unknown) =>
    isJsonObject(item) ? publishOnce(item, list) : publishListed(list, item)
  const publishPage = Effect.fnUntraced(function* (list: ListName, page: Effect.Effect<McpPage, McpSessionError>) {
    const { items, nextCursor } = yield* page
    const results = items.map((item) => publishItem(list, item))
    const listing = { items: Array.getSuccesses(results), omitted: Array.getFailures(results) }
    return { items: yield* report(list, listing), nextCursor }
  })
  const rememberSchema = ({ name, outputSchema }: JsonObject) => {
    outputSchemas.delete(String(name))
    if (isJsonObject(outputSchema)) outputSchemas.set(String(name), outputSchema)
    const [oldest] = outputSchemas.size > maxKnownSchemas ? outputSchemas.keys() : []
    if (oldest !== undefined) outputSchemas.delete(oldest)
  }

  const publishRequest = (request: NonNullable<McpSession["request"]>) => {
    const requestList = (list: ListName, method: McpMethod, params: JsonObject) =>
      Effect.map(publishPage(list, requestPage(request, list, method, params)), ({ items, nextCursor }) => ({
        [list]: items,
        ...definedOnly({ nextCursor })
      }))
    return (method: McpMethod, params: JsonObject): Effect.Effect<JsonObject, McpSessionError> => {
      switch (method) {
        case "prompts/list":
          return requestList("prompts", method, params)
        case "resources/templates/list":
          return requestList("resourceTemplates", method, params)
        case "prompts/get":
          return Effect.flatMap(request(method, params), (result) => toReply(repairPrompt(result)))
        case "completion/complete":
          return Effect.flatMap(request(method, params), (result) => toReply(repairCompletion(result)))
      }
    }
  }

  return {
    ...session,
    outputSchemaOf: (tool) => outputSchemas.get(tool),
    listTools: (cursor) =>
      Effect.tap(publishPage("tools", session.listTools(cursor)), ({ items }) =>
        Effect.sync(() => items.forEach(rememberSchema))
      ),
    listResources: (cursor) => publishPage("resources", session.listResources(cursor)),
    readResource: (uri) => Effect.flatMap(session.readResource(uri), (contents) => toReply(repairRead(uri, contents))),
    callTool: (name, params, options) =>
      Effect.map(session.callTool(name, params, options), (result) =>
        withoutRejectedParts(result, outputSchemas.get(name))
      ),
    ...(session.request !== undefined && { request: publishRequest(session.request) })
  }
}
