import { Effect, Option, type Redacted } from "effect"
import { publishStdio } from "../../adapters/mcp/publish/Stdio.ts"
import { Agent } from "../../application/agent/Agent.ts"
import { officeSession } from "../../application/bridge/OfficeSession.ts"
import { failed, untilEnded } from "../failure.ts"
import type { AgentPlace } from "./agent.ts"
import { publishAt } from "./publish.ts"

/** How an office is published as an MCP server. */
export interface OfficeServerCommand {
  /** The port to serve Streamable HTTP on; stdio without it. */
  readonly http: Option.Option<number>
  readonly host: string
  readonly token: Option.Option<Redacted.Redacted>
  readonly tools: "all" | "search" | "auto"
  readonly pin: ReadonlyArray<string>
  readonly nameBudget: number
  /** Seconds a call may take. */
  readonly timeout: number
}

/** Publishes the office as one MCP server, until the host closes its end or the office cannot be joined any more. */
export const publishOffice = Effect.fnUntraced(function* (
  { office }: AgentPlace,
  { host, http, nameBudget, pin, timeout, token, tools }: OfficeServerCommand
) {
  const { status } = yield* Agent
  const session = yield* officeSession({ office, tools, pinned: pin, budget: nameBudget, timeout })
  const ended = untilEnded(status)
  if (Option.isNone(http)) {
    return yield* Effect.raceFirst(Effect.mapError(publishStdio(session), failed), ended)
  }
  yield* publishAt(session, `office ${office}`, { host, port: http.value, token })
  return yield* ended
})
