/** What the host answers itself. */
export const reservedEndpoints: ReadonlySet<string> = new Set([
  "/",
  "/health",
  "/tools",
  "/mcp",
  "/docs",
  "/redoc",
  "/openapi.json",
  "/favicon.ico"
])

/** Longest endpoint, in characters: more is no name but data. */
const maxEndpointLength = 256

/** What is said along with most faults. */
export const endpointHint = "an endpoint is a path such as '/tools/fetch'"

/** Why there can be no such endpoint, if so. */
export const endpointError = (endpoint: string): string | undefined => {
  if (!endpoint.startsWith("/")) return `the endpoint has to begin with '/': ${endpointHint}`
  if (reservedEndpoints.has(endpoint))
    return "this endpoint is the host's own; take another, such as one below '/tools/'"
  if (endpoint.length > maxEndpointLength)
    return `the endpoint is longer than ${maxEndpointLength} characters`
  if (endpoint.includes("//")) return "the endpoint holds '//': no part of it may be empty"
  if (endpoint.endsWith("/")) return "the endpoint ends with '/': leave that out"
  if (/[?#]/.test(endpoint))
    return `the endpoint holds '?' or '#': ${endpointHint}, parameters are declared in 'params'`
  if (endpoint.split("/").some((part) => part === "." || part === "..")) {
    return "the endpoint holds '.' or '..' as a part: it has to say where it is by itself"
  }
  if (endpoint.includes("%")) return "the endpoint holds '%': write every character as it is"
  if (/[{}:*]/.test(endpoint))
    return "the endpoint holds '{', '}', ':' or '*': parts that vary are declared in 'params'"
  return /[^A-Za-z0-9/._~!$&'()+,;=@\u00a1-\u{10ffff}-]/u.test(endpoint) || !endpoint.isWellFormed()
    ? "the endpoint holds a space or another character that no path may hold"
    : undefined
}
