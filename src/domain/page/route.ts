import type { OfficeAddress } from "./PageEvent.ts"

/** The views of an office, by the words in their addresses. */
export const officeViews = ["overview", "activity", "tools", "prompts", "windows", "documents", "settings"] as const
export type OfficeViewName = (typeof officeViews)[number] | "unknown"

/** What a view shows, such as the chosen tool; each with its address. */
type RouteParameters = { readonly [name: string]: string }

export interface OfficeRoute {
  readonly _tag: "Office"
  readonly address: OfficeAddress
  readonly view: OfficeViewName
  readonly parameters: RouteParameters
}

export type PageRoute = { readonly _tag: "Offices" } | OfficeRoute

const decode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Encodes a name; lone surrogates have no encoding. */
const encode = (text: string): string => encodeURIComponent(text.toWellFormed())

const parseParameters = (query: string): RouteParameters =>
  Object.fromEntries(
    query.split("&").flatMap((pair) => {
      const [name = "", ...rest] = pair.split("=")
      const value = decode(rest.join("="))
      return name === "" || value === undefined ? [] : [[name, value]]
    })
  )

/** Parses the hash of an address such as `#/office/0.2/team/activity?call=7`. Another text is the list of offices. */
export const parseRoute = (hash: string): PageRoute => {
  const [path = "", ...query] = hash.replace(/^#/, "").split("?")
  const [, kind, line = "", office = "", word = ""] = path.split("/").map(decode)
  const view = ["", "inbox"].includes(word) ? "overview" : (officeViews.find((one) => one === word) ?? "unknown")
  if (kind !== "office" || line === "" || office === "") return { _tag: "Offices" }
  return { _tag: "Office", address: { line, office }, view, parameters: parseParameters(query.join("?")) }
}

/** Formats the hash of a view of an office; `inbox` also shows what needs a person. Parameters without a value are left out. */
export const officeHash = (
  { line, office }: OfficeAddress,
  view: OfficeViewName | "inbox",
  parameters: { readonly [name: string]: string | undefined } = {}
): string => {
  const pairs = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${encode(value)}`]
  )
  const query = pairs.length === 0 ? "" : `?${pairs.join("&")}`
  return `#/office/${encode(line)}/${encode(office)}/${view}${query}`
}

export const officesHash = "#/offices"

/** Where a Server serves the office page, with its files and requests below. */
export const officePagePath = "/office"

/** Where a Server serves its pages for monitoring. */
export const serverPagePaths = ["/healthz", "/readyz", "/metrics", "/status"] as const
