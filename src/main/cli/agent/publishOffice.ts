import { Effect, Option, type Redacted } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { Agent } from "../../../application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../application/bridge/OfficeMcpSession.ts"
import { toCommandFailed, untilMembershipEnds } from "../CommandFailed.ts"
import type { AgentSharedOptions } from "./actions.ts"
import { publishOverHttp } from "../publishOverHttp.ts"

/** How an office is published as an MCP server. */
export interface PublishOfficeOptions {
  /** The port to serve Streamable HTTP on; stdio without it. */
  readonly http: Option.Option<number>
  readonly host: string
  readonly token: Option.Option<Redacted.Redacted>
  readonly tools: "all" | "search" | "auto"
  readonly pinnedTools: ReadonlyArray<string>
  readonly maxNameLength: number
  /** Seconds a call may take. */
  readonly timeout: number
}

/** Publishes the office as one MCP server, until the host closes its end or the office cannot be joined any more. */
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
  if (Option.isNone(http)) {
    return yield* Effect.raceFirst(Effect.mapError(publishStdio(session), toCommandFailed), ended)
  }
  yield* publishOverHttp(session, `office ${office}`, { host, port: http.value, token })
  return yield* ended
})
