import { asObject, asString, asStrings, isJsonObject, type JsonObject, parseJsonObject } from "../json.ts"

/** The MCP extension by which tools have a user interface, an app. */
const appExtension = "io.modelcontextprotocol/ui"

export const appMimeType = "text/html;profile=mcp-app"

export const appScheme = "ui://"

/** True for the URI of an app: the case of a scheme has no meaning. */
export const isAppUri = (uri: string): boolean => uri.slice(0, appScheme.length).toLowerCase() === appScheme

/** The key of a `_meta` for its app. */
export const appKey = "ui"

/** The key for the URI alone, of servers before the extension was stable. */
export const flatAppKey = "ui/resourceUri"

/** The capability of a client that shows apps, or passes them to clients that do. */
export const appCapability = { [appExtension]: { mimeTypes: [appMimeType] } }

/** True for the capabilities of a client that shows apps. */
export const supportsApps = (capabilities: unknown): boolean => {
  const { [appExtension]: extension } = asObject(asObject(capabilities)["extensions"])
  const { mimeTypes } = asObject(extension)
  return Array.isArray(mimeTypes) && mimeTypes.includes(appMimeType)
}

/** The metadata of a tool: `_meta` of MCP, or `meta` of the office, which has objects as JSON text. */
type ToolMetadata = JsonObject | undefined

const appOf = (meta: ToolMetadata): JsonObject => {
  const value = meta?.[appKey]
  return isJsonObject(value) ? value : (parseJsonObject(value) ?? {})
}

const isVisibleTo = (meta: ToolMetadata, reader: "model" | "app"): boolean => {
  const { visibility } = appOf(meta)
  return !Array.isArray(visibility) || visibility.includes(reader)
}

/** True for a tool that models must not see: only its app calls it. */
export const isAppOnly = (meta: ToolMetadata): boolean => !isVisibleTo(meta, "model")

/** True for a tool that the apps of its MCP server may call. */
export const isCallableByApps = (meta: ToolMetadata): boolean => isVisibleTo(meta, "app")

export const appUriOf = (meta: ToolMetadata): string | undefined => {
  const uri = asString(appOf(meta)["resourceUri"]) ?? asString(meta?.[flatAppKey])
  return uri !== undefined && isAppUri(uri) ? uri : undefined
}

export const isAppResource = ({ uri }: JsonObject): boolean => typeof uri === "string" && isAppUri(uri)

/** The key of a `_meta` by which an office tells how apps call the tool. */
const appCallKey = "a2c_app"

/** How the apps of an MCP server call a tool, if they may. */
export interface AppCall {
  /** The Computer and the identity of the MCP server, then those in the office behind it, if it is an office. */
  readonly server: ReadonlyArray<string>
  /** Its name at the MCP server. */
  readonly tool: string
}

/** How apps call a tool of an office, by the `_meta` that the office gave it. */
export const appCallOf = (meta: ToolMetadata): AppCall | undefined => {
  const { server, tool } = asObject(meta?.[appCallKey])
  const path = asStrings(server)
  return path === undefined || typeof tool !== "string" ? undefined : { server: path, tool }
}

/** The `_meta` that tells how apps call a tool of an office. */
export const appCallMeta = (call: AppCall): JsonObject => ({ [appCallKey]: call })
