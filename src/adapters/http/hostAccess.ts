import type { IncomingMessage } from "node:http"
import { type AddressInfo, isIP, type Server } from "node:net"
import { Effect } from "effect"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"

/** Only this machine reaches such an address. */
export const isLoopbackAddress = (address: string): boolean => /^(127\.|::1$|::ffff:127\.)/.test(address)

/** Only this machine reaches this host, given as people and URLs write it. A name may lead anywhere, but for the one. */
export const isLoopbackHost = (host: string): boolean => {
  const address = host.replace(/^\[(.*)\]$/, "$1")
  return host === "localhost" || (isIP(address) !== 0 && isLoopbackAddress(address))
}

/** Was a server addressed by what no page can make its own name: a plain address, or this machine itself? */
export const hasRebindingSafeHost = ({ headers: { host = "" } }: IncomingMessage): boolean => {
  const hostname = URL.parse(`http://${host}`)?.hostname.toLowerCase() ?? ""
  return hostname === "localhost" || isIP(hostname.replace(/^\[(.*)\]$/, "$1")) !== 0
}

/**
 * Waits until a server listens, and gives where. Fails with what `refused` makes of the reason. The server stays the
 * caller's, who closes it in any case; interrupting this closes it should it come to listen all the same.
 */
export const listen = <E>(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  makeError: (reason: string) => E
): Effect.Effect<AddressInfo, E> =>
  Effect.callback((resume) => {
    const onError = (error: unknown) => resume(Effect.fail(makeError(formatNetworkError(error))))
    server.once("error", onError)
    try {
      server.listen(port, host, () => {
        server.off("error", onError)
        resume(Effect.succeed(server.address() as AddressInfo))
      })
    } catch (error) {
      onError(error)
    }
    return Effect.sync(() => void server.once("listening", () => server.close()))
  })
