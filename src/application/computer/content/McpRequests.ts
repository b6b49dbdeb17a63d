import { Duration, Effect, Result } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { asString } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import {
  defaultMcpTimeoutSeconds,
  type McpOutcome,
  type McpRequest,
  type McpServerInfo
} from "../../../domain/model/messages/mcp.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { Catalogue } from "../../../domain/tools/catalogue.ts"
import { type McpMethod, McpSessionError } from "../../ports/McpSession.ts"
import type { RunningMcpServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

type McpResult = Effect.Effect<JsonObject, McpSessionError>

const forwardedMethods = ["prompts/get", "completion/complete"] satisfies ReadonlyArray<McpMethod>

const isForwarded = (method: string): method is (typeof forwardedMethods)[number] =>
  (forwardedMethods as ReadonlyArray<string>).includes(method)

const failed = (code: number, message: string) => new McpSessionError({ reason: "protocol", code, message })

/** The members of a listed tool that the office's list of tools carries. */
const listedMembers: ReadonlyArray<string> = ["name", "description", "inputSchema", "outputSchema", "annotations"]

const detailsOf = (listed: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(listed).filter(([member]) => !listedMembers.includes(member)))

const describeServer = (
  id: string,
  { config, prompts, session, templates, tools }: RunningMcpServer,
  catalogue: Catalogue
): McpServerInfo => {
  const { capabilities, implementation, instructions, name, version } = session.info
  const byOriginalName = new Map(tools.map((listed) => [listed["name"], listed]))
  const shown = [...catalogue.entries.values()].filter(({ server }) => server === config.name)
  return {
    id,
    implementation: implementation ?? { name, version },
    ...definedOnly({ instructions }),
    tools: shown.map(({ originalName, tool }) => ({
      name: tool.name,
      details: detailsOf(byOriginalName.get(originalName) ?? {})
    })),
    prompts,
    templates,
    completions: capabilities.completions === true
  }
}

/** Serves the requests of Agents to the MCP servers of a Computer, beyond tools, windows and documents. */
export const makeMcpRequests = ({ findById, identify, snapshot }: ServerSupervisor) => {
  const list = Effect.sync(() => {
    const { catalogue, running } = snapshot()
    return { servers: running.map((server) => describeServer(identify(server.config.name), server, catalogue)) }
  })

  const send = ({ method, params, server: id }: McpRequest): McpResult => {
    if (method === "servers/list") return list
    const server = id === undefined ? undefined : findById(id)
    if (server === undefined) return Effect.fail(failed(jsonRpcCodes.invalidParams, `No MCP server '${id}' runs here`))
    const { session } = server
    if (method === "resources/read") {
      const uri = asString(params["uri"])
      if (uri === undefined) return Effect.fail(failed(jsonRpcCodes.invalidParams, "'uri' must be a string"))
      return Effect.map(session.readResource(uri), (contents) => ({ contents }))
    }
    if (!isForwarded(method) || session.request === undefined) {
      return Effect.fail(failed(jsonRpcCodes.methodNotFound, `Method not found: ${method}`))
    }
    return session.request(method, params)
  }

  return {
    /** Gives the result of a request, or its error. */
    handle: (request: McpRequest): Effect.Effect<McpOutcome & { readonly reqId: string }> => {
      const { reqId, timeout = defaultMcpTimeoutSeconds } = request
      const timedOut = failed(jsonRpcCodes.internalError, `no response within ${timeout} seconds`)
      return send(request).pipe(
        Effect.timeoutOrElse({ duration: Duration.seconds(timeout), orElse: () => Effect.fail(timedOut) }),
        Effect.result,
        Effect.map((outcome) => {
          if (Result.isSuccess(outcome)) return { reqId, result: outcome.success }
          const { code = jsonRpcCodes.internalError, data, message } = outcome.failure
          return { reqId, failure: { code, message, ...definedOnly({ data }) } }
        })
      )
    }
  }
}

export type McpRequests = ReturnType<typeof makeMcpRequests>
