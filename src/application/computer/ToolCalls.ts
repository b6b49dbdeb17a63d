import {
  Cause,
  Clock,
  Duration,
  Effect,
  Exit,
  Fiber,
  FiberMap,
  Hash,
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

/** How long results are kept for a repeat of their request, of how many requests, and how much of them. */
const remembered = { millis: Duration.toMillis("5 minutes"), requests: 256, characters: 32 * 1024 * 1024 }

/** One request that is running or done. */
interface Known {
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
  readonly since: number
  /** About how many characters its result holds; nothing while it runs. */
  weight: number
}

/** What tells one call from another, whatever the size of its parameters. */
const fingerprintOf = ({ params, toolName }: ToolCallReq): string => {
  const text = JSON.stringify(params)
  return JSON.stringify([toolName, text.length, Hash.string(text)])
}

/** The characters of the texts and the binary of a result, which is where its size is. */
const weigh = (value: unknown, depth = 4): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + weigh(member, depth - 1), 0)
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

  /** Forgets what is too old or too much, the oldest first; what still runs is never forgotten. */
  const forget = (now: number) => {
    let characters = [...known.values()].reduce((sum, { weight }) => sum + weight, 0)
    for (const [key, { since, weight }] of known) {
      const tooMuch = known.size > remembered.requests || characters > remembered.characters
      if (!tooMuch && now - since < remembered.millis) break
      if (FiberMap.hasUnsafe(running, key)) continue
      known.delete(key)
      characters -= weight
    }
  }

  /** The fiber of a call: a new one, or the one that an equal request has started before. */
  const begin = Effect.fnUntraced(function* (request: ToolCallReq) {
    const key = keyOf(request.agent, request.reqId)
    const fingerprint = fingerprintOf(request)
    const now = yield* Clock.currentTimeMillis
    forget(now)
    const same = known.get(key)
    if (same !== undefined) {
      return same.fingerprint === fingerprint
        ? same.fiber
        : yield* badRequest("This req_id was used for another call")
    }
    const fiber = yield* FiberMap.run(running, key, execute(request))
    const entry: Known = { fingerprint, fiber, since: now, weight: 0 }
    known.set(key, entry)
    fiber.addObserver((exit) => {
      entry.weight = Exit.isSuccess(exit) ? weigh(exit.value) : 0
    })
    return fiber
  })

  const call = Effect.fnUntraced(function* (request: ToolCallReq) {
    const exit = yield* Effect.flatMap(begin(request), Fiber.await)
    if (Exit.isSuccess(exit)) return exit.value
    if (Cause.hasInterruptsOnly(exit.cause)) return toolCancelled()
    const { reqId, toolName: tool } = request
    yield* Effect.logError("tool call failed", { tool, reqId }, exit.cause)
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
