import type { AgentOptions } from "node:http"
import * as internals from "../internals.ts"

/** The redirects that the polling client of Node follows: to any host, with all headers. */
const followedStatuses: ReadonlySet<number | undefined> = new Set([302, 303, 307])

/** The client takes this status as an error. */
const redirectStatus = 300

/**
 * Options of Socket.IO that turn redirects into errors on Node. Browsers follow the rules of CORS. With `socketPath`,
 * connections go to this Unix socket.
 */
export const rejectRedirects = (origin: string, socketPath?: string) => {
  // Not imported: browsers load this file, too.
  if (typeof process === "undefined" || !("getBuiltinModule" in process)) return {}
  const module = process.getBuiltinModule(/^(https|wss):/.test(origin) ? "node:https" : "node:http")
  // The types of Node lack this option.
  const options: AgentOptions & { readonly socketPath?: string } = socketPath === undefined ? {} : { socketPath }
  const agent = new module.Agent(options)
  internals.observeRequests(agent, (request) => {
    request.prependListener("response", (response) => {
      if (followedStatuses.has(response.statusCode)) response.statusCode = redirectStatus
    })
  })
  return { agent: internals.asAgentOption(agent) }
}
