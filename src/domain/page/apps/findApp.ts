import { asObject, asString, type JsonObject, objectsIn, stringOrEmpty } from "../../json.ts"
import { toServerUri } from "../../office/officeUris.ts"
import { type AppCall, appCallOf, appMimeType, appUriOf, isCallableByApps } from "../../tools/appTools.ts"
import { type AppDomains, parseAppDomains } from "./appDomains.ts"

const metaOf = (listed: JsonObject): JsonObject => asObject(asObject(listed["details"])["_meta"])

const isSamePath = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  JSON.stringify(one) === JSON.stringify(other)

/** What a Computer calls a resource of an MCP server at this path: Computers and MCP servers, from the outside. */
const toComputerUri = (path: AppCall["server"], own: string): string => {
  const [computer, server, ...inner] = path
  if (computer === undefined || server === undefined) return own
  return toServerUri({ computer, server, uri: toComputerUri(inner, own) })
}

/** The names of tools at the Computer, by those at their MCP server. The first tool of a name keeps it. */
const namedTools = (tools: ReadonlyArray<JsonObject>): ReadonlyMap<string, string> => {
  const byName = new Map<string, string>()
  for (const tool of tools) {
    const name = stringOrEmpty(tool["name"])
    const own = appCallOf(metaOf(tool))?.tool ?? (stringOrEmpty(tool["originalName"]) || name)
    if (!byName.has(own)) byName.set(own, name)
  }
  return byName
}

/** Finds the app of a tool in the list of MCP servers that a Computer gives. */
export const findApp = (list: JsonObject, toolName: string) => {
  for (const server of objectsIn(list["servers"])) {
    const tools = objectsIn(server["tools"])
    const tool = tools.find(({ name }) => name === toolName)
    const meta = tool && metaOf(tool)
    const uri = appUriOf(meta)
    if (uri === undefined) continue
    const path = appCallOf(meta)?.server ?? []
    const callable = tools.filter((other) => {
      const otherMeta = metaOf(other)
      return isCallableByApps(otherMeta) && isSamePath(appCallOf(otherMeta)?.server ?? [], path)
    })
    return {
      /** The identity of its MCP server at the Computer. */
      server: stringOrEmpty(server["id"]),
      uri,
      /** The names at the Computer of the tools that it may call, by their names at its MCP server. */
      tools: namedTools(callable),
      /** What the Computer calls a resource that the app names. */
      toComputerUri: (own: string) => toComputerUri(path, own)
    }
  }
  return undefined
}

/** The app of a tool, and what it may use. */
export type ToolApp = NonNullable<ReturnType<typeof findApp>>

/** The HTML of an app, and what it may reach. */
export interface AppContent {
  readonly html: string
  readonly domains: AppDomains
}

/** The largest HTML of an app, in UTF-16 units. */
export const maxAppHtmlLength = 4 * 1024 * 1024

/** Decodes base64 to text; `undefined` for other text. */
type DecodeText = (base64: string) => string | undefined

const normalizeType = (mimeType: unknown): string => stringOrEmpty(mimeType).replaceAll(" ", "").toLowerCase()

/** Parses the contents of an app's resource. Gives the reason when they hold no app. */
export const parseAppContent = (read: JsonObject, decodeText: DecodeText): AppContent | string => {
  const [content] = objectsIn(read["contents"])
  if (content === undefined) return "Its resource is empty."
  if (normalizeType(content["mimeType"]) !== appMimeType) return "Its resource has another type than an app."
  const html = asString(content["text"]) ?? decodeText(stringOrEmpty(content["blob"]))
  if (html === undefined) return "Its resource has no text."
  if (html.length > maxAppHtmlLength) return `It is larger than ${maxAppHtmlLength} characters.`
  return { html, domains: parseAppDomains(asObject(asObject(content["_meta"])["ui"])["csp"]) }
}
