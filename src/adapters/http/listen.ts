import type { AddressInfo, Server } from "node:net"
import { Effect } from "effect"
import { formatNetworkError } from "../bytes/formatNetworkError.ts"

/**
 * Resolves with the bound address when a server listens, and fails with the error that `makeError` makes of the reason.
 * The caller closes the server in any case. Interruption closes a server that starts to listen afterwards.
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
