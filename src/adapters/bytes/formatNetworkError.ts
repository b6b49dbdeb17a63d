/** What the network's errors mean, by their codes, to follow "cannot …:" and "connection closed:". */
const errorMessages: { readonly [code: string]: string } = {
  EACCES: "the system does not allow it",
  EADDRINUSE: "the address is in use",
  EADDRNOTAVAIL: "this machine does not have that address",
  EAI_AGAIN: "the name of the host cannot be looked up right now",
  ECONNREFUSED: "the connection was refused",
  ECONNRESET: "the connection was reset",
  EHOSTUNREACH: "no way leads to that host",
  EMFILE: "too many files and connections are open",
  ENETUNREACH: "no way leads to that network",
  ENOTFOUND: "no host has that name",
  EPIPE: "the far end closed the connection",
  EPROTO: "no TLS can be spoken with the far end",
  ERR_SOCKET_BAD_PORT: "there is no such port",
  ETIMEDOUT: "the far end does not answer"
}

/** What is known of an error of the network; those that stand for several have a code and no message. */
const errorInfo = (error: unknown): { readonly code?: string; readonly message: string } =>
  error instanceof Error ? error : { message: String(error) }

/** Says in words what went wrong with a socket or a server; Node's own where there are no better ones. */
export const formatNetworkError = (error: unknown): string => {
  const { code = "", message } = errorInfo(error)
  return errorMessages[code] ?? (message || code)
}
