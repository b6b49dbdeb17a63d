/** Endpoints of the host itself. */
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

const maxEndpointLength = 256

export const endpointHint = "an endpoint is a path such as '/tools/fetch'"

/** Says why an endpoint is invalid; undefined when it is valid. */
export const endpointError = (endpoint: string): string | undefined => {
  if (!endpoint.startsWith("/")) return `the endpoint must start with '/': ${endpointHint}`
  if (reservedEndpoints.has(endpoint))
    return "this endpoint is reserved by the host; choose another, such as one below '/tools/'"
  if (endpoint.length > maxEndpointLength) return `the endpoint is longer than ${maxEndpointLength} characters`
  if (endpoint.includes("//")) return "the endpoint contains '//': segments must not be empty"
  if (endpoint.endsWith("/")) return "the endpoint must not end with '/'"
  if (/[?#]/.test(endpoint))
    return `the endpoint contains '?' or '#': ${endpointHint}, parameters are declared in 'params'`
  if (endpoint.split("/").some((part) => part === "." || part === "..")) {
    return "the endpoint contains '.' or '..' as a segment: it must be absolute"
  }
  if (endpoint.includes("%")) return "the endpoint contains '%': write every character unescaped"
  if (/[{}:*]/.test(endpoint))
    return "the endpoint contains '{', '}', ':' or '*': variable parts are declared in 'params'"
  return /[^A-Za-z0-9/._~!$&'()+,;=@\u00a1-\u{10ffff}-]/u.test(endpoint) || !endpoint.isWellFormed()
    ? "the endpoint contains a space or another character that is invalid in a path"
    : undefined
}
