import { Effect } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import { watchAgent } from "../../../application/agent/AgentWatch.ts"
import { makeOfficeMcpSession } from "../../../application/bridge/OfficeMcpSession.ts"
import { ownCodes } from "../../A2cError.ts"
import { CommandFailed, untilMembershipEnds } from "../../CommandFailed.ts"
import { publishOverHttp } from "../publishOverHttp.ts"
import { runAsSharingAgent } from "./queries.ts"
import type { OptionsOf } from "./flags.ts"

/** Each host starts a process over stdio, but an office has one Agent. */
const forSeveralHosts =
  "\nSeveral MCP hosts share an Agent over HTTP: run 'a2c agent mcp --http 7080' once, and give them its URL."

/** Publishes the office as one MCP server, until the host closes stdio or the membership ends for good. */
export const publishOffice = Effect.fnUntraced(
  function* (options: OptionsOf<"mcp">) {
    const { host, http, maxNameLength, maxResult, name, office, page, pinnedTools, timeout, token, tools } = options
    const { status } = yield* Agent
    const watched = http === undefined || !page ? undefined : yield* watchAgent({ name, office })
    const publishing = makeOfficeMcpSession({
      office,
      tools,
      pinned: pinnedTools,
      maxToolNameLength: maxNameLength,
      maxResult,
      timeout
    })
    const session = yield* watched === undefined ? publishing : Effect.provideService(publishing, Agent, watched.agent)
    const ended = untilMembershipEnds(status)
    if (http === undefined) return yield* Effect.raceFirst(publishStdio(session), ended)
    yield* publishOverHttp(session, `office ${office}`, { host, port: http, token, page: watched?.page })
    return yield* ended
  },
  // A host that starts this process over stdio shows a failure; over HTTP no host would restart it.
  (action, options) =>
    Effect.mapError(runAsSharingAgent(action, options, options.http !== undefined), (error) =>
      error instanceof CommandFailed && error.code === ownCodes.JoinRejected
        ? new CommandFailed({ ...error, message: error.message + forSeveralHosts })
        : error
    )
)
