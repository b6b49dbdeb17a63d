import { Console, Effect, Option, type Redacted } from "effect"
import { publishHttp } from "../../adapters/mcp/publish/Http.ts"
import { publishStdio } from "../../adapters/mcp/publish/Stdio.ts"
import { Agent } from "../../application/agent/Agent.ts"
import { officeSession } from "../../application/bridge/OfficeSession.ts"
import { CommandFailed, failed, untilEnded } from "../failure.ts"
import type { AgentPlace } from "./agent.ts"

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
  const isOpen = Option.isNone(token) && !["127.0.0.1", "::1", "localhost"].includes(host)
  if (isOpen) {
    const message = `Whoever reaches ${host} could use this office: set A2C_MCP_TOKEN, or listen on 127.0.0.1`
    return yield* new CommandFailed({ message })
  }
  const { url } = yield* Effect.mapError(
    publishHttp(session, { host, port: http.value, ...(Option.isSome(token) && { token: token.value }) }),
    failed
  )
  yield* Console.log(`publishing office ${office} at ${url}`)
  return yield* ended
})
