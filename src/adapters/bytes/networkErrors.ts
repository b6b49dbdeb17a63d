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

/** Codes of Node for certificates whose authority is not trusted. */
const untrusted: { readonly [code: string]: string } = {
  CERT_UNTRUSTED: "its authority is not trusted",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is self-signed",
  SELF_SIGNED_CERT_IN_CHAIN: "its authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT: "its authority is not trusted",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its authority is not trusted",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its authority is not trusted"
}

/** Codes for certificates that are invalid for other reasons. */
const invalid: { readonly [code: string]: string } = {
  CERT_CHAIN_TOO_LONG: "its chain is too long",
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet",
  CERT_REJECTED: "it is rejected",
  CERT_REVOKED: "it is revoked",
  CERT_SIGNATURE_FAILURE: "its signature is invalid",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another host",
  HOSTNAME_MISMATCH: "it is for another host",
  INVALID_CA: "its authority is invalid",
  INVALID_PURPOSE: "it is for another purpose",
  PATH_LENGTH_EXCEEDED: "its chain is too long"
}

/** Why TLS rejected the certificate of a peer; undefined for other errors. */
export const certificateProblem = (
  error: unknown
): { readonly reason: "untrusted_certificate" | "invalid_certificate"; readonly text: string } | undefined => {
  const code = error instanceof Error && "code" in error ? String(error.code) : ""
  const [isUntrusted, isInvalid] = [untrusted[code], invalid[code]]
  if (isUntrusted !== undefined) return { reason: "untrusted_certificate", text: isUntrusted }
  return isInvalid === undefined ? undefined : { reason: "invalid_certificate", text: isInvalid }
}
