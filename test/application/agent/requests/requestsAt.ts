import { Duration, Effect, Result } from "effect"
import { type AgentRequests, makeAgentRequests } from "../../../../src/application/agent/AgentRequests.ts"
import type { KnownPeers } from "../../../../src/application/agent/mcpChannel.ts"
import type { OfficeMember } from "../../../../src/application/member/OfficeMember.ts"
import type { Body } from "../../../../src/application/ports/Body.ts"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import { LinkClosed } from "../../../../src/application/ports/Transport.ts"
import { type LineName, lineNamed } from "../../../../src/domain/wire/lines.ts"

/** A request as its peer receives it. */
export interface Sent {
  readonly event: string
  readonly body: { readonly [name: string]: unknown }
  readonly seconds: number
}

export type Answer = (
  sent: Sent
) => Effect.Effect<ReadonlyArray<Body>, Effect.Error<ReturnType<OfficeMember["request"]>>>

export const noReply: Answer = () => Effect.fail(new LinkClosed({ reason: "test" }))

/** Replies with a body of the id of the request. */
export const replyWith =
  (bodyOf: (sent: Sent) => object): Answer =>
  (sent) =>
    Effect.succeed([
      RawBody.unparsed(Buffer.from(`${JSON.stringify({ ...bodyOf(sent), req_id: sent.body["req_id"] })}]`))
    ])

/** The requests of an Agent on a line at a peer that answers each one, and what the peer receives. */
export const requestsAt = (
  answer: Answer,
  {
    agent = "agent-1",
    computer = "pc-1",
    line = "0.4",
    maxBytes = Number.POSITIVE_INFINITY,
    serverPassesMcp = true,
    knownPeers = { serverPassesMcp, computers: new Map([[computer, ["mcp"]]]) }
  }: {
    readonly agent?: string
    readonly computer?: string
    readonly line?: LineName
    readonly maxBytes?: number
    readonly serverPassesMcp?: boolean
    readonly knownPeers?: KnownPeers | undefined
  } = {}
): { readonly agent: AgentRequests; readonly sent: ReadonlyArray<Sent>; readonly notified: ReadonlyArray<unknown> } => {
  const sent: Array<Sent> = []
  const notified: Array<unknown> = []
  const member: Pick<OfficeMember, "line" | "maxBytes" | "notify" | "request"> = {
    line: lineNamed(line),
    maxBytes: () => maxBytes,
    notify: (event, body) => Effect.sync(() => void notified.push([event, Result.getOrUndefined(body.value())])),
    request: (event, body, timeout) =>
      Effect.suspend(() => {
        const one = { event, body: Object(Result.getOrUndefined(body.value())), seconds: Duration.toSeconds(timeout) }
        sent.push(one)
        return answer(one)
      })
  }
  return {
    agent: makeAgentRequests(member as OfficeMember, { name: agent, office: "O1", peers: knownPeers }),
    sent,
    notified
  }
}
