import { asObject } from "../../json.ts"

/** The origins of the internet that an app may use. */
export interface AppDomains {
  /** For requests. */
  readonly connect: ReadonlyArray<string>
  /** For scripts, styles, images, fonts and media. */
  readonly resources: ReadonlyArray<string>
  readonly frames: ReadonlyArray<string>
  readonly baseUris: ReadonlyArray<string>
}

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

const listed = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const originsIn = (value: unknown): ReadonlyArray<string> => listed(value).filter(isOrigin).slice(0, maxOrigins)

/** Parses the domains that an app declares in `_meta.ui.csp`. Those that no app may use are left out. */
export const parseAppDomains = (csp: unknown): AppDomains => {
  const { baseUriDomains, connectDomains, frameDomains, resourceDomains } = asObject(csp)
  return {
    connect: originsIn(connectDomains),
    resources: originsIn(resourceDomains),
    frames: originsIn(frameDomains),
    baseUris: originsIn(baseUriDomains)
  }
}

/** The domains as `_meta.ui.csp` has them. */
export const formatAppDomains = ({ baseUris, connect, frames, resources }: AppDomains) => ({
  connectDomains: connect,
  resourceDomains: resources,
  frameDomains: frames,
  baseUriDomains: baseUris
})

/** All domains, each once. */
export const allAppDomains = (domains: AppDomains): ReadonlyArray<string> => [
  ...new Set(Object.values(domains).flat() as ReadonlyArray<string>)
]

/**
 * The content security policy of the page that frames an app, which the app inherits. `page` is the origin of the office
 * page. The app is one document with its scripts inside, and uses no other host than the declared ones.
 */
export const formatAppPolicy = ({ baseUris, connect, frames, resources }: AppDomains, page: string): string => {
  const directive = (name: string, ...sources: ReadonlyArray<string>) =>
    `${name} ${sources.length === 0 ? "'none'" : sources.join(" ")}`
  return [
    "default-src 'none'",
    directive("script-src", "'unsafe-inline'", ...resources),
    directive("style-src", "'unsafe-inline'", ...resources),
    directive("img-src", "data:", "blob:", ...resources),
    directive("font-src", "data:", ...resources),
    directive("media-src", "data:", "blob:", ...resources),
    directive("connect-src", ...connect),
    directive("frame-src", ...frames),
    directive("base-uri", ...baseUris),
    "object-src 'none'",
    "form-action 'none'",
    directive("frame-ancestors", page)
  ].join("; ")
}
