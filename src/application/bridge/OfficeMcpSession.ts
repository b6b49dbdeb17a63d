import { Effect, PubSub, type Scope, Stream } from "effect"
import { Agent } from "../agent/Agent.ts"
import { type McpChange, McpSessionError, type McpSession } from "../ports/McpSession.ts"
import { watchHub } from "../shared/toolsOnlySession.ts"
import {
  changesBetween,
  makeOfficeModelSession,
  officeInstructions,
  type OfficeMcpSessionOptions
} from "./officeModelSession.ts"
import { makeServerRequests } from "./officeServers.ts"
import { makeOfficeTasks } from "./officeTools.ts"

/** Buffered changes per watcher; the oldest are dropped first. */
const changeBacklog = 1024

/**
 * Exposes a whole office as one MCP peer: what models use, and its changes, prompts and tasks. Use it to publish an office
 * as an MCP server, or as an MCP server of another office's Computer.
 */
export const makeOfficeMcpSession = Effect.fnUntraced(function* (
  options: OfficeMcpSessionOptions
): Effect.fn.Return<McpSession, never, Agent | Scope.Scope> {
  const agent = yield* Agent
  const hub = yield* Effect.acquireRelease(PubSub.sliding<McpChange>(changeBacklog), PubSub.shutdown)
  const announceResources = PubSub.publish(hub, { _tag: "ResourcesChanged" })
  const { current, largeResults, report, session, settled } = yield* makeOfficeModelSession(options, announceResources)
  const request = makeServerRequests(agent, options.maxToolNameLength, report)
  let lastView = yield* agent.view

  yield* agent.changes.pipe(
    Stream.runForEach((next) => {
      const changes = changesBetween(lastView, next, options)
      lastView = next
      return PubSub.publishAll(hub, changes)
    }),
    Effect.forkScoped({ startImmediately: true })
  )

  return {
    ...session,
    info: {
      ...session.info,
      // MCP servers come and go: a client gets those of the time when it connects.
      get instructions() {
        return officeInstructions(options.office, lastView)
      }
    },
    request: (method, params) => Effect.andThen(settled, request(method, params)),
    tasks: makeOfficeTasks(agent, current, largeResults),
    watch: watchHub(hub),
    closed: agent.status.pipe(
      Stream.filter((status) => status._tag === "Failed"),
      Stream.runHead,
      Effect.as(new McpSessionError({ reason: "closed", message: "The office cannot be rejoined" }))
    )
  }
})
