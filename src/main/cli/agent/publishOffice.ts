import { Effect } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../application/bridge/OfficeMcpSession.ts"
import { toCommandFailed, untilMembershipEnds } from "../CommandFailed.ts"
import { publishOverHttp } from "../publishOverHttp.ts"
import type { AgentSharedOptions, PublishOfficeOptions } from "./flags.ts"

/** Publishes the office as one MCP server, until the host closes stdio or the membership ends for good. */
export const publishOffice = Effect.fnUntraced(function* (
  { office }: AgentSharedOptions,
  { host, http, maxNameLength, pinnedTools, timeout, token, tools }: PublishOfficeOptions
) {
  const { status } = yield* Agent
  const session = yield* makeOfficeMcpSession({
    office,
    tools,
    pinned: pinnedTools,
    maxToolNameLength: maxNameLength,
    timeout
  })
  const ended = untilMembershipEnds(status)
  if (http === undefined) {
    return yield* Effect.raceFirst(Effect.mapError(publishStdio(session), toCommandFailed), ended)
  }
  yield* publishOverHttp(session, `office ${office}`, { host, port: http, token })
  return yield* ended
})
