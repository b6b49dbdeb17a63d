import { officePagePath, serverPagePaths } from "../../domain/page/route.ts"

/** The form of a URL in error messages. */
export const expectedUrl = "a URL with its scheme, like http://127.0.0.1:7070 or https://[2001:db8::1]"

/** True for an absolute URL of one of the schemes. `host:7070` parses as one of the scheme `host`. */
export const isUrl = (text: string, schemes: ReadonlyArray<string> = ["http", "https"]): boolean => {
  const [, scheme = ""] = /^([a-z]+):\/\//i.exec(text) ?? []
  return schemes.includes(scheme.toLowerCase()) && URL.canParse(text)
}

/** The form of an origin in error messages. */
export const expectedOrigin = "an origin like https://example.org, without a path, *. or another pattern"

/** The origin in the form that browsers send, or `undefined` for a text that no origin equals. */
export const parseOrigin = (text: string): string | undefined => {
  const url = isUrl(text) ? URL.parse(text) : null
  if (url === null || url.href !== `${url.origin}/` || /^\.|\*/.test(url.hostname)) return undefined
  return url.origin
}

/** The form of an origin in a list, in error messages. */
export const expectedListedOrigin = `${expectedOrigin}, or * for any`

/**
 * {@link parseOrigin} for a list, which may also hold `*` for any, `null` for pages without an origin, and origins of
 * other schemes, which extensions and applications with a web view send: `chrome-extension://abcd`.
 */
export const parseListedOrigin = (text: string): string | undefined => {
  if (text === "*" || text === "null") return text
  const [, scheme] = /^([a-z][a-z\d+.-]*):\/\/[^/?#@*\s]+$/.exec(text) ?? []
  return scheme === undefined || /^(https?|wss?|ftp|file)$/.test(scheme) ? parseOrigin(text) : text
}

/** A host name as in the header `Host`, without the port, or `undefined` for a text that no host name equals. */
export const parseHostName = (text: string): string | undefined => {
  const origin = parseOrigin(`http://${text}`)
  return origin === undefined || /[:/]/.test(text.replace(/^\[.*\]$/, "")) ? undefined : origin.slice("http://".length)
}

/** The form of a path in error messages. */
export const expectedPath =
  "a path like /smcp, in the form of URLs, without * and a slash at its end, and not that of a page: " +
  [...serverPagePaths, officePagePath].join(", ")

/** True for the path of a URL that requests can have, and that none of the Server's pages has. */
export const isSocketPath = (path: string): boolean =>
  URL.parse(path, "http://localhost")?.pathname === path &&
  !/\/$|\*/.test(path) &&
  !serverPagePaths.some((page) => page === path) &&
  !`${path}/`.startsWith(`${officePagePath}/`)
