/** The address of a listener or a peer. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Parses `HOST:PORT`, where the host may be an IPv6 address in brackets. Listeners may have port 0, any free port. */
export const parseHostPort = (text: string, minPort: 0 | 1): HostPort | undefined => {
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < minPort || port > 65_535 ? undefined : { host, port }
}

/** The check of a host to listen on, as a row of a flag has it. */
export const listenHostCheck = [
  (text: string) => (text.startsWith("[") ? /^\[[^\]]+\]$/ : /^[^\s[\]]+$/).test(text),
  "an IP address or a host name, such as 127.0.0.1, :: or localhost"
] as const

/** A host to listen on without the brackets of a URL. */
export const withoutBrackets = (host: string): string => host.replace(/^\[(.*)\]$/, "$1")
