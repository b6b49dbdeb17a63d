import { Clock, Effect } from "effect"
import { mcpServerRestarting, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { buildCatalogue } from "../../../domain/tools/catalogue.ts"
import type { RestartingServer } from "./ServersSnapshot.ts"
import type { ServerSupervisor } from "./ServerSupervisor.ts"

type Servers = Pick<ServerSupervisor, "identify" | "snapshot">

/** Fails with a retryable error while a server is restarting that matches: what it last offered is known. */
export const rejectWhileRestarting = Effect.fnUntraced(function* (
  { identify, snapshot }: Servers,
  matches: (server: RestartingServer) => boolean
): Effect.fn.Return<void, ProtocolError> {
  const server = snapshot().restarting.find(matches)
  if (server === undefined) return
  const { config, retryAt } = server
  const now = yield* Clock.currentTimeMillis
  return yield* mcpServerRestarting(identify(config.name), retryAt && Math.max(0, retryAt - now))
})

/** {@link rejectWhileRestarting} for the server of a tool, by its name in the office. */
export const rejectToolWhileRestarting = (servers: Servers, tool: string) =>
  rejectWhileRestarting(servers, (server) => buildCatalogue([server], servers.snapshot().naming).entries.has(tool))

/** {@link rejectWhileRestarting} for the server of this identity in the office. */
export const rejectServerWhileRestarting = (servers: Servers, id: string) =>
  rejectWhileRestarting(servers, ({ config }) => servers.identify(config.name) === id)
