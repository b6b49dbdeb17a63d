import { Effect } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../application/bridge/OfficeMcpSession.ts"
import { untilMembershipEnds } from "../CommandFailed.ts"
import { publishOverHttp } from "../publishOverHttp.ts"
import { runAsSharingAgent } from "./actions.ts"
import type { PublishOfficeOptions } from "./flags.ts"

/** Publishes the office as one MCP server, until the host closes stdio or the membership ends for good. */
export const publishOffice = Effect.fnUntraced(
  function* ({ host, http, maxNameLength, office, pinnedTools, timeout, token, tools }: PublishOfficeOptions) {
    const { status } = yield* Agent
    const session = yield* makeOfficeMcpSession({
      office,
      tools,
      pinned: pinnedTools,
      maxToolNameLength: maxNameLength,
      timeout
    })
    const ended = untilMembershipEnds(status)
    if (http === undefined) return yield* Effect.raceFirst(publishStdio(session), ended)
    yield* publishOverHttp(session, `office ${office}`, { host, port: http, token })
    return yield* ended
  },
  // A host that starts this process over stdio shows a failure; over HTTP no host would restart it.
  (action, options) => runAsSharingAgent(action, options, options.http !== undefined)
)
