import { isJsonObject, type JsonObject } from "../json.ts"
import { appKey, flatAppKey, isAppUri } from "../tools/appTools.ts"
import { nextPageKey } from "../results/resultUris.ts"
import { type ServerResource, toOfficeUri, toServerUri } from "./officeUris.ts"

/** The MCP server of a tool or result. */
export type ServerPlace = Omit<ServerResource, "uri">

/** Changes members that exist. */
const mapMembers = (
  object: JsonObject,
  changes: { readonly [member: string]: (value: unknown) => unknown }
): JsonObject => ({
  ...object,
  ...Object.fromEntries(
    Object.entries(changes)
      .filter(([member]) => object[member] !== undefined)
      .map(([member, change]) => [member, change(object[member])])
  )
})

/** Changes the members of a value that is an object. */
const inObject = (changes: Parameters<typeof mapMembers>[1]) => (value: unknown) =>
  isJsonObject(value) ? mapMembers(value, changes) : value

const toAppUri = (place: ServerPlace) => (uri: unknown) =>
  typeof uri === "string" && isAppUri(uri) ? toServerUri({ ...place, uri }) : uri

/** What a client reads without the MCP server, and texts that are no URIs. */
const readableAnywhere = /^(https?|data):|^(?![a-z][a-z0-9+.-]*:)/i

const toReadableUri = (place: ServerPlace) => (uri: unknown) =>
  typeof uri !== "string" || readableAnywhere.test(uri)
    ? uri
    : (toOfficeUri({ computer: place.computer, uri }) ?? toServerUri({ ...place, uri }))

/** Changes the URIs of apps in the `_meta` of a tool or result to those of the office. */
const inMeta = (place: ServerPlace) => {
  const rewrite = toAppUri(place)
  return inObject({ [appKey]: inObject({ resourceUri: rewrite }), [flatAppKey]: rewrite })
}

/** Gives the content of a resource, and the page that follows it in an office behind the MCP server, URIs of the office. */
export const withOfficePage = (content: JsonObject, place: ServerPlace): JsonObject => {
  const rewrite = (uri: unknown) => (typeof uri === "string" ? toServerUri({ ...place, uri }) : uri)
  return mapMembers(content, { uri: rewrite, _meta: inObject({ [nextPageKey]: rewrite }) })
}

/** Gives a listed tool the URI of its app in the office. */
export const withOfficeApp = (tool: JsonObject, place: ServerPlace) => mapMembers(tool, { _meta: inMeta(place) })

/** Gives what a result links to or embeds, and the app that it names, the URIs by which the office reads them. */
export const withOfficeUris = (result: JsonObject, place: ServerPlace): JsonObject => {
  const rewrite = toReadableUri(place)
  const inBlock = inObject({ uri: rewrite, resource: inObject({ uri: rewrite }), _meta: inMeta(place) })
  return mapMembers(result, {
    content: (blocks) => (Array.isArray(blocks) ? blocks.map(inBlock) : blocks),
    _meta: inMeta(place)
  })
}
