/** The version of this package. A test compares it with package.json. */
export const packageVersion = "0.1.0"

/** The default `User-Agent` of requests. */
const userAgent = `a2c-smcp/${packageVersion}`

type Headers = { readonly [name: string]: string }

/** Adds the default `User-Agent`, unless these headers have one. */
export const withUserAgent = (headers: Headers = {}): Headers =>
  Object.keys(headers).some((name) => name.toLowerCase() === "user-agent")
    ? headers
    : { "User-Agent": userAgent, ...headers }
