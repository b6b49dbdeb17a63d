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
import { type JsonObject, maxDepth } from "../../domain/json.ts"
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
import { scriptOf } from "../../domain/tools/vrl.ts"
import type { McpFailure } from "../ports/McpSession.ts"
import { SchemaValidator } from "../ports/SchemaValidator.ts"
import { VrlEngine } from "../ports/VrlEngine.ts"
import { newRequestId } from "../RequestId.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import type { ReadyServer } from "./Offer.ts"
import type { SessionPool } from "./SessionPool.ts"
import { transform } from "./Transform.ts"

/** A call that reached a server, for ordering desktops by use (seed 001). */
export interface ToolCallRecord {
  readonly timestamp: number
  readonly reqId: string
  readonly server: string
  readonly tool: string
  readonly success: boolean
}

/** A call that comes by no office. */
export interface LocalCall {
  /** The name the office calls the tool by. */
  readonly tool: string
  readonly params: JsonObject
  /** How long it may take; a minute unless given. */
  readonly timeout?: Duration.Duration
  /** Who asks, if it is nobody at the Computer itself: for them consent is needed, as for Agents. */
  readonly asker?: string
}

/** Runs the tools of a Computer. */
export interface ToolCalls {
  /** Runs a call. A request repeated under the same id is the same call and has the same result (spec §6.2). */
  readonly call: (request: ToolCallReq) => Effect.Effect<ToolResult, Refusal>
  /** Runs a call that comes by no office. The Computer's own people have consented by asking. */
  readonly callHere: (call: LocalCall) => Effect.Effect<ToolResult>
  /** Stops the call of this request, if it runs here. */
  readonly cancel: (reqId: string) => Effect.Effect<void>
  /** Stops all calls and forgets the results of earlier ones: their Agent has gone. */
  readonly reset: Effect.Effect<void>
  /** The calls that reached a server, oldest first. */
  readonly history: () => ReadonlyArray<ToolCallRecord>
}

/** How many calls are remembered for ordering servers by use. */
const historyLength = 10

/** How long results are kept for a repeat of their request (spec §6.2), of how many requests, and how much of them. */
const remembered = { millis: Duration.toMillis("5 minutes"), requests: 256, characters: 32 * 1024 * 1024 }

/** One request that is running or done. */
interface Known {
  readonly fingerprint: string
  readonly fiber: Fiber.Fiber<ToolResult>
  /** When it began, or ended if it has, in milliseconds since 1970. */
  since: number
  /** About how many characters its result holds; nothing while it runs. */
  weight: number
}

/** What tells one call from another, whatever the size of its parameters. */
const fingerprintOf = ({ params, toolName }: ToolCallReq): string => {
  const text = JSON.stringify(params)
  return JSON.stringify([toolName, text.length, Hash.string(text)])
}

/** The characters of the texts and the binary of a result, which is where its size is. */
const weigh = (value: unknown, depth = maxDepth): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + weigh(member, depth - 1), 0)
}

/** What a call is about, whoever made it. */
type Call = Pick<ToolCallReq, "agent" | "params" | "reqId" | "toolName">

/** How long a call of the Computer's own people may take when they do not say. */
const usualTimeout = Duration.minutes(1)

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
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  /** What began, or ended, longest ago stands first. */
  const known = new Map<string, Known>()
  const history = yield* Ref.make<ReadonlyArray<ToolCallRecord>>([])
  const validator = yield* Effect.serviceOption(SchemaValidator)
  const engine = yield* Effect.serviceOption(VrlEngine)
  const unusable = new WeakSet<JsonObject>()

  const record = ({ reqId }: Call, { original: tool, server }: CatalogueEntry, success: boolean) =>
    Effect.flatMap(Clock.currentTimeMillis, (timestamp) =>
      Ref.update(history, (records) =>
        [...records, { timestamp, reqId, server, tool, success }].slice(-historyLength)
      )
    )

  /** Why the parameters do not fit the tool's schema; a schema that nobody can use checks nothing. */
  const misfit = Effect.fnUntraced(function* ({ params, toolName }: Call, { tool }: CatalogueEntry) {
    if (Option.isNone(validator)) return undefined
    const faults = yield* Effect.catch(validator.value.check(tool.paramsSchema, params), ({ message }) => {
      if (unusable.has(tool.paramsSchema)) return Effect.succeed([])
      unusable.add(tool.paramsSchema)
      const facts = { tool: toolName, reason: message }
      return Effect.as(Effect.logWarning("parameters are not checked: the schema is unusable", facts), [])
    })
    if (faults.length === 0) return undefined
    const list = faults.map((fault) => `\n- ${fault}`).join("")
    return toolFailed(`Tool '${toolName}' was not called: its arguments do not fit its schema.${list}`)
  })

  const consent = Effect.fnUntraced(function* (
    { agent, params, reqId, toolName: tool }: Call,
    { autoApply, server }: CatalogueEntry
  ) {
    if (autoApply) return undefined
    if (confirm === undefined) {
      return confirmationRequired(
        `Tool '${tool}' needs confirmation and this Computer has nobody to ask. ` +
          "Its owner can approve it (auto_apply, --approve)."
      )
    }
    const granted = yield* Effect.catchCause(
      Effect.suspend(() => confirm({ agent, reqId, server, tool, params })),
      (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logWarning("confirmation failed", { tool }, cause), false)
    )
    return granted ? undefined : confirmationRequired(`Tool '${tool}' was not confirmed`)
  })

  const invoke = Effect.fnUntraced(
    function* ({ params, reqId, toolName: tool }: Call, entry: CatalogueEntry, server: ReadyServer) {
      const answer = yield* Effect.result(
        server.session.callTool(entry.original, params, {
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
    (running, call, entry) =>
      Effect.onExit(running, (exit) => record(call, entry, Exit.isSuccess(exit) && !exit.value.isError))
  )

  /** The result with what the server's script makes of it, if there is one and it is done in time. */
  const scripted = (
    result: ToolResult,
    { params }: Call,
    { original: tool }: CatalogueEntry,
    { config }: ReadyServer,
    limit: Duration.Duration
  ): Effect.Effect<ToolResult> => {
    const script = scriptOf(config.vrl)
    if (script === undefined || Option.isNone(engine)) return Effect.succeed(result)
    return Effect.timeoutOrElse(transform(engine.value, script, result, { tool, params }), {
      duration: limit,
      orElse: () => Effect.as(Effect.logWarning("result not transformed in time", { tool }), result)
    })
  }

  /** A call that breaks down is a failed call; only interruption keeps it from having a result. */
  const sound = (running: Effect.Effect<ToolResult>, { reqId, toolName: tool }: Call) =>
    Effect.catchCauseIf(
      running,
      (cause) => !Cause.hasInterruptsOnly(cause),
      (cause) =>
        Effect.as(Effect.logError("tool call failed", { tool, reqId }, cause), toolFailed("Internal error"))
    )

  const execute = Effect.fnUntraced(function* (
    call: Call,
    timeout: Duration.Duration,
    agree: (entry: CatalogueEntry) => Effect.Effect<ToolResult | undefined>
  ) {
    const { toolName } = call
    const { entries, forbidden } = pool.catalogue()
    const entry = entries.get(toolName)
    if (entry === undefined) return forbidden.has(toolName) ? toolDisabled(toolName) : toolNotFound(toolName)
    const wrong = yield* misfit(call, entry)
    if (wrong !== undefined) return wrong
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(timeout)
    const left = Effect.map(Clock.currentTimeMillis, (now) => Duration.millis(Math.max(0, deadline - now)))
    const refused = yield* Effect.timeoutOption(agree(entry), yield* left)
    if (Option.isNone(refused)) return confirmationRequired(`Tool '${toolName}' was not confirmed in time`)
    if (refused.value !== undefined) return refused.value
    // What was agreed to may have been forbidden, or given another name, while somebody thought about it.
    const now = pool.catalogue().entries.get(toolName)
    if (now?.server !== entry.server || now.original !== entry.original) return toolDisabled(toolName)
    const server = pool.find(entry.server)
    if (server === undefined) return toolFailed(`MCP server '${entry.server}' is not running`)
    const result = yield* Effect.timeoutOption(invoke(call, entry, server), yield* left)
    return Option.isNone(result)
      ? toolTimedOut("computer")
      : yield* scripted(result.value, call, entry, server, yield* left)
  }, sound)

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
    const timeout = Duration.seconds(request.timeout)
    const fiber = yield* FiberMap.run(
      running,
      key,
      execute(request, timeout, (entry) => consent(request, entry)),
      // Known before it starts: whatever it sets off may want to stop it.
      { startImmediately: false }
    )
    const entry: Known = { fingerprint, fiber, since: now, weight: 0 }
    known.set(key, entry)
    fiber.addObserver((exit) => {
      entry.weight = Exit.isSuccess(exit) ? weigh(exit.value) : 0
      entry.since = clock.currentTimeMillisUnsafe()
      if (known.get(key) !== entry) return
      known.delete(key)
      known.set(key, entry)
    })
    return fiber
  })

  const call = Effect.fnUntraced(function* (request: ToolCallReq) {
    const exit = yield* Effect.flatMap(begin(request), Fiber.await)
    return Exit.isSuccess(exit) ? exit.value : toolCancelled()
  })

  const callHere = Effect.fnUntraced(function* ({ asker, params, timeout = usualTimeout, tool }: LocalCall) {
    const reqId = yield* newRequestId
    const call = { agent: asker ?? "", params, reqId, toolName: tool }
    return yield* execute(call, timeout, (entry) =>
      asker === undefined ? Effect.undefined : consent(call, entry)
    )
  })

  return {
    call,
    callHere,
    cancel: (reqId) =>
      Effect.suspend(() =>
        Effect.forEach(
          [...running].filter(([key]) => isFor(key, reqId)),
          ([key]) => FiberMap.remove(running, key),
          { discard: true }
        )
      ),
    // Forgotten first: what begins while the others end is remembered.
    reset: Effect.suspend(() => {
      known.clear()
      return FiberMap.clear(running)
    }),
    history: () => Ref.getUnsafe(history)
  }
})
