import {
  Cause,
  Clock,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberMap,
  Option,
  Ref,
  Result,
  type Scope
} from "effect"
import type { ToolCallReq } from "../../domain/protocol/v0_2/calls.ts"
import type { ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { badRequest, codes, type Refusal } from "../../domain/refusal.ts"
import type { CatalogueEntry } from "../../domain/tools/catalogue.ts"
import {
  confirmationRequired,
  fromMcpResult,
  toolCancelled,
  toolDisabled,
  toolError,
  toolFailed,
  toolNotFound,
  toolTimedOut
} from "../../domain/tools/result.ts"
import type { McpFailure } from "../ports/McpSession.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import type { ReadyServer } from "./Offer.ts"
import type { SessionPool } from "./SessionPool.ts"

/** A call that reached a server, for ordering desktops by use (seed 001). */
export interface ToolCallRecord {
  readonly timestamp: number
  readonly reqId: string
  readonly server: string
  readonly tool: string
  readonly success: boolean
}

/** Runs the tools of a Computer. */
export interface ToolCalls {
  /** Runs a call. A request repeated under the same id is the same call and has the same result (spec §6.2). */
  readonly call: (request: ToolCallReq) => Effect.Effect<ToolResult, Refusal>
  /** Stops the call of this request, if it runs here. */
  readonly cancel: (reqId: string) => Effect.Effect<void>
  /** Stops all calls and forgets the results of earlier ones: their Agent has gone. */
  readonly reset: Effect.Effect<void>
  /** The calls that reached a server, oldest first. */
  readonly history: () => ReadonlyArray<ToolCallRecord>
}

/** How many calls are remembered for ordering servers by use. */
const historyLength = 10

/** How long, and of how many requests, the result is kept for a repeat of the request. */
const remembered = { millis: Duration.toMillis("5 minutes"), most: 256 }

/** One request that is running or done. */
interface Known {
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
  readonly since: number
}

const keyOf = (agent: string, reqId: string): string => JSON.stringify([reqId, agent])
const isFor = (key: string, reqId: string): boolean => key.startsWith(`[${JSON.stringify(reqId)},`)

/** A failure of an MCP server as the office hears it (spec §6.4, §6.6). */
const failureResult = (server: string, { kind, message }: McpFailure): ToolResult => {
  switch (kind) {
    case "unauthorized":
      return toolError(codes.authorizationRequired, `MCP server '${server}' asks for authorization`, {
        mcp_server: server,
        auth_hint: {
          action: "user_authorization_required",
          message: `The owner of this Computer must authorize '${server}'`
        }
      })
    case "forbidden":
      return toolError(codes.authorizationFailed, `MCP server '${server}' does not permit this`, {
        mcp_server: server,
        auth_hint: {
          action: "user_authorization_required",
          message: `The rights granted to '${server}' do not cover this tool`
        }
      })
    case "protocol":
    case "closed":
    case "unavailable":
    case "unsupported":
      return toolFailed(message)
  }
}

/** Runs calls on the servers of a pool; all of them stop with the scope. */
export const makeToolCalls = Effect.fnUntraced(function* (
  pool: SessionPool
): Effect.fn.Return<ToolCalls, never, Scope.Scope> {
  const { confirm, onProgress } = yield* ComputerSettings
  const running = yield* FiberMap.make<string, ToolResult>()
  const known = new Map<string, Known>()
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])

  const record = ({ reqId }: ToolCallReq, { original: tool, server }: CatalogueEntry, success: boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) =>
        [...records, { timestamp, reqId, server, tool, success }].slice(-historyLength)
      )
    )

  const consent = Effect.fnUntraced(function* (request: ToolCallReq, { autoApply, server }: CatalogueEntry) {
    if (autoApply) return undefined
    if (confirm === undefined) {
      return confirmationRequired(
        `Tool '${request.toolName}' needs confirmation and this Computer has nobody to ask. ` +
          "Its owner can approve it (auto_apply, --approve)."
      )
    }
    const { agent, params, reqId, toolName: tool } = request
    const granted = yield* Effect.catchCause(confirm({ agent, reqId, server, tool, params }), (cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.as(Effect.logWarning("confirmation failed", { tool }, cause), false)
    )
    return granted ? undefined : confirmationRequired(`Tool '${request.toolName}' was not confirmed`)
  })

  const invoke = Effect.fnUntraced(
    function* (request: ToolCallReq, entry: CatalogueEntry, server: ReadyServer) {
      const { reqId, toolName: tool } = request
      const answer = yield* Effect.result(
        server.session.callTool(entry.original, request.params, {
          onProgress: (step) => onProgress({ ...step, reqId, tool })
        })
      )
      const result = Result.flatMap(
        Result.mapError(answer, (failure) => failureResult(entry.server, failure)),
        (raw) =>
          Result.mapError(fromMcpResult(raw), (why) => toolFailed(`The tool's result is malformed: ${why}`))
      )
      return Result.merge(result)
    },
    (call, request, entry) =>
      Effect.onExit(call, (exit) => record(request, entry, Exit.isSuccess(exit) && !exit.value.isError))
  )

  const execute = Effect.fnUntraced(function* (request: ToolCallReq) {
    const { toolName } = request
    const { entries, forbidden } = pool.catalogue()
    const entry = entries.get(toolName)
    if (entry === undefined) return forbidden.has(toolName) ? toolDisabled(toolName) : toolNotFound(toolName)
    const deadline = (yield* Clock.currentTimeMillis) + request.timeout * 1000
    const left = Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, deadline - now)))
    const refused = yield* Effect.timeoutOption(consent(request, entry), yield* left)
    if (Option.isNone(refused)) return confirmationRequired(`Tool '${toolName}' was not confirmed in time`)
    if (refused.value !== undefined) return refused.value
    const server = pool.find(entry.server)
    if (server === undefined) return toolFailed(`MCP server '${entry.server}' is not running`)
    const result = yield* Effect.timeoutOption(invoke(request, entry, server), yield* left)
    return Option.getOrElse(result, () => toolTimedOut("computer"))
  })

  const forget = (now: number) => {
    for (const [key, { since }] of known) {
      if (known.size <= remembered.most && now - since < remembered.millis) break
      if (!FiberMap.hasUnsafe(running, key)) known.delete(key)
    }
  }

  const call = Effect.fnUntraced(function* (request: ToolCallReq) {
    const { agent, params, reqId, toolName } = request
    const key = keyOf(agent, reqId)
    const fingerprint = JSON.stringify([toolName, params])
    const now = yield* Clock.currentTimeMillis
    forget(now)
    const same = known.get(key)
    if (same !== undefined && same.fingerprint !== fingerprint) {
      return yield* badRequest("This req_id was used for another call")
    }
    const fiber = same?.fiber ?? (yield* FiberMap.run(running, key, execute(request)))
    if (same === undefined) known.set(key, { fingerprint, fiber, since: now })
    const exit = yield* Fiber.await(fiber)
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.hasInterruptsOnly(exit.cause)) return toolCancelled()
    yield* Effect.logError("tool call failed", { tool: toolName, reqId }, exit.cause)
    return toolFailed("Internal error")
  })

  return {
    call,
    cancel: (reqId) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...running].filter(([key]) => isFor(key, reqId)),
          ([key]) => FiberMap.remove(running, key),
          { discard: true }
        )
      ),
    reset: Effect.andThen(
      FiberMap.clear(running),
      Effect.sync(() => known.clear())
    ),
    history: () => Ref.getUnsafe(history)
  }
})
