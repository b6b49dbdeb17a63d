/** Messages for the error codes of the network. They follow "cannot …:" and "connection closed:". */
const errorMessages: { readonly [code: string]: string } = {
  EACCES: "permission denied",
  EADDRINUSE: "the address is in use",
  EADDRNOTAVAIL: "this machine does not have that address",
  EAI_AGAIN: "DNS lookup failed, try again later",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  EHOSTUNREACH: "no route to host",
  EMFILE: "too many open files",
  ENETUNREACH: "network unreachable",
  ENOTFOUND: "host name not found",
  EPIPE: "closed by peer",
  EPROTO: "TLS handshake failed",
  ERR_SOCKET_BAD_PORT: "invalid port",
  ETIMEDOUT: "connection timed out"
}

/** Formats an error of a socket or a server. Falls back to Node's message, then to the code: aggregates have no message. */
export const formatNetworkError = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  const code = "code" in error ? String(error.code) : ""
  return errorMessages[code] ?? (error.message || code)
}
