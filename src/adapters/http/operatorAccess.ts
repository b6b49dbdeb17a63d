import type { IncomingMessage } from "node:http"
import { Duration, Effect } from "effect"
import { Authenticator, checkIdentity } from "../../application/ports/Authenticator.ts"
import type { Handshake } from "../../application/ports/Transport.ts"
import { MembershipObservers } from "../../application/server/observability/observers.ts"
import { errorCodes, forbidden, unauthorized, unavailable } from "../../domain/model/ProtocolError.ts"
import { defaultLine } from "../../domain/wire/lines.ts"

/** Time limit of the authenticator, which may have to fetch keys. */
const authenticationTimeout = Duration.seconds(10)

export const remoteAddressOf = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? "unknown"

export type OperatorAccess = Effect.Success<typeof makeOperatorAccess>

/** Makes the checks of requests for pages of operators. */
export const makeOperatorAccess = Effect.gen(function* () {
  const authenticator = yield* Authenticator
  const observers = yield* MembershipObservers

  /** Reports a rejected request to the observers; gives the fields of its log line. */
  const observeRejection = (request: IncomingMessage, code: number, reason: string) => {
    const remoteAddress = remoteAddressOf(request)
    const page = (request.url ?? "/").replace(/\?.*/s, "")
    for (const observe of observers) {
      observe({ _tag: "ConnectionRejected", remoteAddress, code, reason: `${page}: ${reason}` })
    }
    return { page, remoteAddress, code, reason }
  }

  /** Gives the identity of an operator, or an error for the client. Rejections are logged and reported, except a timeout. */
  const authenticate = (request: IncomingMessage, credentials: Pick<Handshake, "auth" | "headers">) => {
    const handshake: Handshake = {
      version: defaultLine.version,
      remoteAddress: remoteAddressOf(request),
      ...credentials
    }
    const reject = Effect.fnUntraced(function* (code: number, reason: string) {
      yield* Effect.logWarning("page request rejected", observeRejection(request, code, reason))
      if (code === errorCodes.forbidden) return yield* forbidden("this page requires the right 'operator'")
      return code === errorCodes.internalError || code === errorCodes.unavailable
        ? yield* unavailable("authentication is unavailable")
        : yield* unauthorized("this page requires an operator's token")
    })
    return checkIdentity(authenticator, authenticator.authenticate(handshake)).pipe(
      Effect.catch(({ code, message }) => reject(code, message)),
      Effect.tap(({ grants, subject }) =>
        grants.rights.includes("operator")
          ? Effect.void
          : reject(errorCodes.forbidden, `'${subject}' is not an operator`)
      ),
      Effect.timeoutOrElse({
        duration: authenticationTimeout,
        orElse: () => unavailable("authentication timed out")
      })
    )
  }

  return { requiresCredentials: authenticator.requiresCredentials, observeRejection, authenticate }
})
