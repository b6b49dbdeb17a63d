import { Effect } from "effect"
import { certificateProblem, formatNetworkError } from "../../../adapters/bytes/networkErrors.ts"
import { makeHttpAgent, makeSecureContext } from "../../../adapters/socketio/client/nodeAgent.ts"
import { isServerUrl } from "../../../adapters/socketio/client/serverAddress.ts"
import { CommandFailed, failCommand, hintFor } from "../../CommandFailed.ts"
import { readAuthorities } from "../memberConnection.ts"

const requestTimeout = "10 seconds"

/** The URL of a page, which stands at the root of a Server; the path of its URL is that of Socket.IO. */
export const serverPageUrl = (url: string, page: string): Effect.Effect<URL, CommandFailed> => {
  const base = URL.parse(url)
  if (base !== null && `${base.username}${base.password}` !== "") {
    return failCommand("The URL of a Server holds no user and no password: give a token by --token-file")
  }
  if (base === null || !isServerUrl(url)) {
    return failCommand(`${JSON.stringify(url)} is not the URL of a Server: expected one like http://127.0.0.1:7070`)
  }
  base.protocol = base.protocol.replace("ws", "http")
  return Effect.succeed(new URL(`${page}${base.search}`, base))
}

/** Makes the request of a page; each run of the effect is a request. Redirects are not followed. */
export const makePageRequest = Effect.fnUntraced(function* (
  page: URL,
  { tlsCa, token }: { readonly tlsCa: string | undefined; readonly token?: string | undefined }
) {
  const secureContext =
    tlsCa === undefined
      ? undefined
      : yield* Effect.mapError(Effect.flatten(Effect.flatMap(readAuthorities(tlsCa), makeSecureContext)), (reason) =>
          typeof reason === "string" ? new CommandFailed({ message: `--tls-ca: ${reason}` }) : reason
        )
  const { request } = makeHttpAgent(page.origin, { secureContext })
  return Effect.tryPromise({
    // A token must not reach the target of a redirect.
    try: (signal) => request(page, token === undefined ? {} : { authorization: `Bearer ${token}` }, signal),
    catch: (error) => {
      const certificate = certificateProblem(error)
      const reason =
        certificate === undefined
          ? formatNetworkError(error)
          : `its certificate is not accepted: ${certificate.text}${hintFor(certificate.reason)}`
      return new CommandFailed({ message: `The Server at ${page.origin} cannot be reached: ${reason}` })
    }
  }).pipe(
    Effect.timeoutOrElse({
      duration: requestTimeout,
      orElse: () => failCommand(`The request to ${page.origin} timed out after ${requestTimeout}`)
    })
  )
})
