/** The address of a listener or a peer. */
export interface HostPort {
  readonly host: string
  readonly port: number
}

/** Parses `HOST:PORT`, where the host may be an IPv6 address in brackets. Listeners may have port 0, any free port. */
export const parseHostPort = (text: string, minPort: 0 | 1): HostPort | undefined => {
  const [, bracketed, plain, digits = ""] = /^(?:\[([^\]]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(digits)
  return host === undefined || port < minPort || port > 65_535 ? undefined : { host, port }
}
