import { Effect } from "effect"
import { asObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
import { withOfficeApp, withOfficePage } from "../../domain/office/rewriteUris.ts"
import { parseServerUri, toServerUri } from "../../domain/office/officeUris.ts"
import { type AppCall, appCallOf, appUriOf } from "../../domain/tools/appTools.ts"
import { type RepairedListing, repairListing } from "../../domain/tools/listings/mcpListings.ts"
import { exposedName } from "../../domain/tools/exposedNames.ts"
import type { Agent } from "../agent/Agent.ts"
import type { McpServerRequest } from "../agent/mcpChannel.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { type McpMethod, protocolFailure, sessionError } from "../ports/McpSession.ts"
import type { ListingReport } from "../shared/listings/serverListings.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

interface OfficePrompt {
  readonly computer: ComputerName
  readonly server: string
  readonly prompt: JsonObject
}

/** Maximum number of prompts that are remembered after they left. */
const maxDepartedPrompts = 1000

const serversIn = ({ computers }: OfficeView) =>
  [...computers].flatMap(([computer, { servers = [] }]) => servers.map((info) => ({ computer, info })))

/**
 * The prompts of all Computers by their names in the office. The second prompt of a name at a Computer also has the
 * name of its MCP server.
 */
const promptsIn = (view: OfficeView, maxNameLength: number | undefined): ReadonlyMap<string, OfficePrompt> => {
  const byName = new Map<string, OfficePrompt>()
  for (const { computer, info } of serversIn(view)) {
    const { id: server, prompts } = info
    for (const prompt of prompts) {
      const own = stringOrEmpty(prompt["name"])
      const names = [own, `${server}__${own}`].map((tool) => exposedName({ owner: computer, tool }, maxNameLength))
      const name = names.find((candidate) => !byName.has(candidate))
      if (own !== "" && name !== undefined) byName.set(name, { computer, server, prompt })
    }
  }
  return byName
}

/** In UTF-16 units: instructions are in the context of every conversation. */
const instructionLimits = { perServer: 2000, total: 16_000 }

const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`

/** Adds the instructions of the MCP servers to those of the office. */
export const combineInstructions = (own: string, view: OfficeView): string => {
  const parts = serversIn(view).flatMap(({ computer, info: { id, instructions = "" } }) => {
    const text = truncate(instructions.trim(), instructionLimits.perServer)
    return text === "" ? [] : [`Instructions of the MCP server '${id}' of '${computer}':\n${text}`]
  })
  return truncate([own, ...parts].join("\n\n"), instructionLimits.total)
}

/** What an MCP server lists of a tool beyond the protocol. */
export interface ToolOrigin {
  /** The identity of the MCP server in the office. */
  readonly server: string
  /** With the URI of its app for the office. */
  readonly details: JsonObject
  /** Missing for a tool of a server without apps. */
  readonly appCall: AppCall | undefined
}

/** The origins of the tools of a Computer, by their names there. */
export const toolOriginsOf = (computer: ComputerName, servers: ReadonlyArray<McpServerInfo>) => {
  const originsOf = ({ id: server, tools }: McpServerInfo) => {
    const hasApps = tools.some(({ details }) => appUriOf(asObject(details["_meta"])) !== undefined)
    return tools.map(({ details, name, originalName = name }): readonly [string, ToolOrigin] => {
      const inner = appCallOf(asObject(details["_meta"])) ?? { server: [], tool: originalName }
      const appCall = hasApps ? { ...inner, server: [computer, server, ...inner.server] } : undefined
      return [name, { server, details: withOfficeApp(details, { computer, server }), appCall }]
    })
  }
  return new Map(servers.flatMap(originsOf))
}

/** Lists items of all MCP servers with the URIs of the office, without those that clients would reject with the whole list. */
const listWithUris = (
  view: OfficeView,
  list: "resources" | "resourceTemplates",
  itemsOf: (server: McpServerInfo) => ReadonlyArray<JsonObject>
): RepairedListing => {
  const member = list === "resources" ? "uri" : "uriTemplate"
  const listings = serversIn(view).map(({ computer, info }) => {
    const { items, ...leftOut } = repairListing(list, itemsOf(info))
    const toOffice = (item: JsonObject) => ({
      name: item[member],
      ...item,
      [member]: toServerUri({ computer, server: info.id, uri: stringOrEmpty(item[member]) })
    })
    return { items: items.map(toOffice), ...leftOut }
  })
  return {
    items: listings.flatMap(({ items }) => items),
    omitted: listings.flatMap(({ omitted }) => omitted),
    rounded: listings.flatMap(({ rounded }) => rounded)
  }
}

/** The apps that the MCP servers of an office list, as resources of the office. */
export const appResourcesIn = (view: OfficeView): RepairedListing =>
  listWithUris(view, "resources", ({ apps = [] }) => apps)

const invalidParams = (message: string) => protocolFailure(jsonRpcCodes.invalidParams, message)

const send = (agent: Agent["Service"], computer: ComputerName, request: McpServerRequest) =>
  Effect.mapError(agent.mcpRequest(computer, request), (error) =>
    error._tag === "McpSessionError" ? error : sessionError("unavailable", error.message)
  )

const parseUri = (agent: Agent["Service"], uri: unknown) =>
  Effect.map(agent.view, ({ computers }) => parseServerUri(stringOrEmpty(uri), computers.keys()))

/** Reads a resource of an MCP server; `undefined` for other URIs. The contents have the URIs of the office. */
export const readServerResource = Effect.fnUntraced(function* (agent: Agent["Service"], uri: string) {
  const resource = yield* parseUri(agent, uri)
  if (resource === undefined) return undefined
  const { computer, server, uri: own } = resource
  const { contents } = yield* send(agent, computer, { server, method: "resources/read", params: { uri: own } })
  const toOffice = (content: JsonObject) => withOfficePage(content, { computer, server })
  return Array.isArray(contents) ? contents.map(asObject).map(toOffice) : []
})

/** Makes the requests to the MCP servers of an office: prompts, completions and resource templates. */
export const makeServerRequests = (
  agent: Agent["Service"],
  maxNameLength: number | undefined,
  report: ListingReport
) => {
  /** The prompts that were listed, also those that left: only their Computers know why they do not list them now. */
  let listedPrompts: ReadonlyMap<string, OfficePrompt> = new Map()
  const findPrompt = Effect.fnUntraced(function* (name: unknown) {
    const view = yield* agent.view
    const known = listedPrompts.get(stringOrEmpty(name))
    const departed = known !== undefined && view.computers.has(known.computer) ? known : undefined
    const found = promptsIn(view, maxNameLength).get(stringOrEmpty(name)) ?? departed
    return found ?? (yield* invalidParams(`There is no prompt '${String(name)}' in this office`))
  })
  const complete = Effect.fnUntraced(function* (params: JsonObject) {
    const ref = asObject(params["ref"])
    const method = "completion/complete"
    if (ref["type"] === "ref/prompt") {
      const { computer, prompt, server } = yield* findPrompt(ref["name"])
      const own = { ...ref, name: prompt["name"] }
      return yield* send(agent, computer, { server, method, params: { ...params, ref: own } })
    }
    const resource = yield* parseUri(agent, ref["uri"])
    if (resource === undefined)
      return yield* invalidParams("'ref' must name a prompt or a resource template of this office")
    const { computer, server, uri } = resource
    return yield* send(agent, computer, { server, method, params: { ...params, ref: { ...ref, uri } } })
  })

  return Effect.fnUntraced(function* (method: McpMethod, params: JsonObject) {
    switch (method) {
      case "prompts/list": {
        const byName = promptsIn(yield* agent.view, maxNameLength)
        listedPrompts = new Map([...listedPrompts, ...byName].slice(-(byName.size + maxDepartedPrompts)))
        const prompts = [...byName].map(([name, { prompt }]) => ({ ...prompt, name }))
        return { prompts: yield* report("prompts", repairListing("prompts", prompts)) }
      }
      case "prompts/get": {
        const { computer, prompt, server } = yield* findPrompt(params["name"])
        return yield* send(agent, computer, { server, method, params: { ...params, name: prompt["name"] } })
      }
      case "completion/complete":
        return yield* complete(params)
      case "resources/templates/list": {
        const listing = listWithUris(yield* agent.view, "resourceTemplates", ({ templates }) => templates)
        return { resourceTemplates: yield* report("resourceTemplates", listing) }
      }
    }
  })
}
