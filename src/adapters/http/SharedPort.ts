import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { Context, type Effect, type Scope } from "effect"
import type { ListenError } from "../../application/ports/Transport.ts"

/** What one of several processes that share a port does with requests for the others. */
export interface PortSharing {
  /** The ids of the sessions of this process begin with it: they name their process. */
  readonly sessionPrefix: string
  /** True in the one process that serves apps at a given port. */
  readonly servesApps: boolean
  /** Passes the request of another process's session on, and returns true. `serveHere` follows when that process is gone. */
  readonly passRequest: (request: IncomingMessage, response: ServerResponse, serveHere: () => void) => boolean
  /** As `passRequest`, for the opening of a WebSocket. */
  readonly passUpgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => boolean
  /** The replies of the other processes to a request for a page; none to one of them, and of those that do not answer. */
  readonly askOthers: (request: IncomingMessage, path: string) => Effect.Effect<ReadonlyArray<string>>
  /** Gives the connections and requests of this process to a server, as long as the scope. Gives the URL of the port. */
  readonly listen: (http: Server) => Effect.Effect<{ readonly url: string }, ListenError, Scope.Scope>
}

/** Set in a process that shares its port; others have all sessions themselves. */
export const SharedPort = Context.Reference<PortSharing | undefined>("a2c-smcp/adapters/http/SharedPort", {
  defaultValue: () => undefined
})
