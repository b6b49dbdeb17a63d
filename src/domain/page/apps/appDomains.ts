import { asObject } from "../../json.ts"

/** Origins of one kind; the header with all of them must fit into the limits of HTTP. */
const maxOrigins = 20

const maxOriginLength = 100

/**
 * Encrypted, and of a name with a dot: an app must reach neither the network of the operator nor pages at `localhost`.
 * `*.` stands for all subdomains.
 */
const originPattern =
  /^(?:https|wss):\/\/(?:\*\.)?(?:[a-z\d](?:[a-z\d-]*[a-z\d])?\.)+[a-z][a-z\d-]*[a-z\d](?::\d{1,5})?$/i

const isOrigin = (value: unknown): value is string =>
  typeof value === "string" && value.length <= maxOriginLength && originPattern.test(value)

const originsIn = (value: unknown) => (Array.isArray(value) ? value : []).filter(isOrigin).slice(0, maxOrigins)

/** The origins that an app declares in `_meta.ui.csp`, under the same names. Those that no app may use are left out. */
export const parseAppDomains = (csp: unknown) => {
  const { baseUriDomains, connectDomains, frameDomains, resourceDomains } = asObject(csp)
  return {
    /** For requests. */
    connectDomains: originsIn(connectDomains),
    /** For scripts, styles, images, fonts and media. */
    resourceDomains: originsIn(resourceDomains),
    frameDomains: originsIn(frameDomains),
    baseUriDomains: originsIn(baseUriDomains)
  }
}

/** The origins of the internet that an app may use. */
export type AppDomains = ReturnType<typeof parseAppDomains>

/** All domains, each once. */
export const allAppDomains = (domains: AppDomains): ReadonlyArray<string> => [...new Set(Object.values(domains).flat())]

/**
 * The content security policy of the page that frames an app, which the app inherits. `page` is the origin of the office
 * page. The app is one document with its scripts inside, and uses no other host than the declared ones.
 */
export const formatAppPolicy = (domains: AppDomains, page: string): string => {
  const { baseUriDomains, connectDomains, frameDomains, resourceDomains: resources } = domains
  const directive = (name: string, ...sources: ReadonlyArray<string>) => `${name} ${sources.join(" ") || "'none'"}`
  return [
    "default-src 'none'",
    directive("script-src", "'unsafe-inline'", ...resources),
    directive("style-src", "'unsafe-inline'", ...resources),
    directive("img-src", "data:", "blob:", ...resources),
    directive("font-src", "data:", ...resources),
    directive("media-src", "data:", "blob:", ...resources),
    directive("connect-src", ...connectDomains),
    directive("frame-src", ...frameDomains),
    directive("base-uri", ...baseUriDomains),
    "object-src 'none'",
    "form-action 'none'",
    directive("frame-ancestors", page)
  ].join("; ")
}
