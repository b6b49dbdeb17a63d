import { Effect, Option, Result, Duration, Stream } from "effect"
import { callerName } from "../../../domain/approvals/Caller.ts"
import { maxProgressMessageLength, truncateServerNames, truncateFailures } from "../../../domain/model/CallStatus.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import {
  toolError,
  toolFailed,
  rejectRoundedIntegers,
  toolDisabled,
  toolNotFound
} from "../../../domain/tools/errorResults.ts"
import { fromMcpResult } from "../../../domain/tools/mcpConversion.ts"
import { addTransformedEvent, toVrlEvent, type VrlCall, vrlScript } from "../../../domain/tools/vrl.ts"
import type { InputResponder, McpProgress, McpSession, McpSessionError } from "../../ports/McpSession.ts"
import { VrlEngine } from "../../ports/VrlEngine.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { openSession, type OfferedServer } from "../servers/ServersSnapshot.ts"
import { type Call, waitReporting } from "./Call.ts"
import type { CallConsent } from "./CallConsent.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"
import { waitLimit } from "../../../domain/calls/callState.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { listCallsWithin, listToolNames } from "../../../domain/tools/naming.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

/** Makes the functions that find the tools of calls; they fail with the results of calls that cannot run. */
export const makeToolLookup = Effect.fnUntraced(function* (computer: ComputerName, servers: ServerSupervisor) {
  const validator = yield* SchemaValidator
  const unusableSchemas = new WeakSet<JsonObject>()

  /** Validates the parameters; an unusable schema is logged once and skips validation. */
  const checkParams = Effect.fnUntraced(function* ({ params, toolName }: Call, { tool }: CatalogueEntry) {
    const rounded = rejectRoundedIntegers(toolName, params)
    if (rounded !== undefined) return yield* Effect.fail(rounded)
    const errors = yield* Effect.catch(validator.check(tool.paramsSchema, params), ({ message }) => {
      if (unusableSchemas.has(tool.paramsSchema)) return Effect.succeed([])
      unusableSchemas.add(tool.paramsSchema)
      const fields = { tool: toolName, reason: message }
      return Effect.as(Effect.logWarning("tool schema invalid, parameters not validated", fields), [])
    })
    if (errors.length === 0) return
    const list = errors.map((error) => `\n- ${error}`).join("")
    return yield* Effect.fail(
      toolFailed(`Tool '${toolName}' was not called: its arguments do not fit its schema.${list}`)
    )
  })

  /** Fails with the result of a call whose server is restarting, or with another one. */
  const missing = (tool: string, otherwise: ToolResult): Effect.Effect<never, ToolResult> =>
    Effect.matchEffect(servers.rejectToolWhileRestarting(tool), {
      onFailure: ({ extra, message }) => Effect.fail(toolFailed(message, extra)),
      onSuccess: () => Effect.fail(otherwise)
    })

  /** Waits while a starting server may have an unknown tool. Leaves time to run the tool, or to say what is missing. */
  const awaitTool = Effect.fnUntraced(function* (call: Call) {
    const { toolName } = call
    const isKnown = () => {
      const { catalogue, starting } = servers.snapshot()
      return starting.length === 0 || catalogue.entries.has(toolName) || catalogue.forbidden.has(toolName)
    }
    if (isKnown()) return
    const limit = Duration.millis(waitLimit(Duration.toMillis(yield* call.remaining)))
    const known = Stream.runHead(Stream.filter(servers.changes, isKnown))
    call.dispatch({ _tag: "ServersAwaited" })
    yield* waitReporting(call, Effect.timeoutOption(known, limit), () => ({
      _tag: "WaitingForServers",
      computer,
      servers: truncateServerNames(servers.snapshot().starting)
    }))
    call.dispatch({ _tag: "ServersReady" })
  })

  return {
    /** Waits for the tool of a call, and checks that it may be called with these arguments. */
    find: Effect.fnUntraced(function* (call: Call): Effect.fn.Return<CatalogueEntry, ToolResult> {
      const { params, toolName } = call
      yield* awaitTool(call)
      const { catalogue, failing, starting } = servers.snapshot()
      const entry = catalogue.entries.get(toolName)
      if (entry === undefined) {
        if (catalogue.forbidden.has(toolName)) return yield* Effect.fail(toolDisabled(toolName))
        return yield* missing(toolName, toolNotFound(toolName, starting, truncateFailures(failing)))
      }
      const { originalName, shortName } = entry
      const named = { originalName, shortName, tool: toolName, params }
      const within = listCallsWithin(named, servers.find(entry.server)?.config).flatMap(listToolNames)
      const forbidden = within.find((name) => catalogue.forbidden.has(name))
      if (forbidden !== undefined) return yield* Effect.fail(toolDisabled(forbidden))
      yield* checkParams(call, entry)
      return entry
    }),
    /** The server of a tool that was found before: the catalogue may have changed since. */
    findServer: ({ toolName }: Call, entry: CatalogueEntry): Effect.Effect<OfferedServer, ToolResult> => {
      const current = servers.snapshot().catalogue.entries.get(toolName)
      const server = servers.find(entry.server)
      return current?.server !== entry.server || current.originalName !== entry.originalName || server === undefined
        ? missing(toolName, toolDisabled(toolName))
        : Effect.succeed(server)
    }
  }
})

/** Maps a failure of an MCP server to a result (spec §6.4, §6.6). */
const failureResult = (server: string, { reason, message }: McpSessionError): ToolResult => {
  if (reason !== "unauthorized" && reason !== "forbidden") return toolFailed(message)
  const [code, problem, hint] =
    reason === "unauthorized"
      ? [
          errorCodes.authorizationRequired,
          "asks for authorization",
          `The owner of this Computer must authorize '${server}'`
        ]
      : [
          errorCodes.authorizationFailed,
          "does not permit this",
          `The rights granted to '${server}' do not cover this tool`
        ]
  return toolError(code, `MCP server '${server}' ${problem}`, {
    mcp_server: server,
    auth_hint: { action: "user_authorization_required", message: hint }
  })
}

/** Adds the event that the server's VRL script makes of a result (spec §6.7). A failed script is only logged. */
export const transformResult = (engine: VrlEngine["Service"], script: string, result: ToolResult, call: VrlCall) =>
  Effect.matchEffect(engine.run(script, toVrlEvent(result, call)), {
    onSuccess: (event) => Effect.succeed(addTransformedEvent(result, event)),
    onFailure: ({ message, reason }) =>
      Effect.as(Effect.logWarning("VRL transform failed", { tool: call.tool, reason, message }), result)
  })

/** A call that may run at its MCP server. */
export interface Invocation {
  readonly call: Call
  readonly entry: CatalogueEntry
  readonly server: OfferedServer
  readonly responder: InputResponder
  /** Fails with the result of a call that its policy denies by now. */
  readonly checkPolicy: Effect.Effect<void, ToolResult>
}

/** Makes the functions that call tools at their MCP servers. */
export const makeToolInvocation = Effect.fnUntraced(function* (
  computer: ComputerName,
  makeToolCheck: CallConsent["makeToolCheck"]
) {
  const { onProgress } = yield* ComputerSettings
  const engine = yield* Effect.serviceOption(VrlEngine)

  const reportProgress = (call: Call, { message, progress, total }: McpProgress): Effect.Effect<void> => {
    if (call.dispatch({ _tag: "Progressed" })?._tag !== "ReportProgress") return Effect.void
    const shown = message?.slice(0, maxProgressMessageLength).toWellFormed()
    return call.report({ _tag: "Progressing", computer, progress, ...definedOnly({ total, message: shown }) })
  }

  const invokeAt = Effect.fnUntraced(function* ({ call, entry, responder }: Invocation, session: McpSession) {
    const { caller, params, reqId, toolName: tool } = call
    const report = Effect.fnUntraced(function* (step: McpProgress) {
      yield* onProgress({ ...step, reqId, tool })
      yield* reportProgress(call, step)
    })
    const options = { responder, onProgress: report, ...(caller._tag !== "Owner" && { requester: callerName(caller) }) }
    return yield* Effect.match(session.callTool(entry.originalName, params, options), {
      onFailure: (error) => failureResult(entry.serverId, error),
      onSuccess: (result) =>
        Result.getOrElse(fromMcpResult(result), (message) => toolFailed(`The tool's result is malformed: ${message}`))
    })
  })

  /** Opens the session of a lazy server for a call. A start may find another tool than the one that was allowed. */
  const openFor = Effect.fnUntraced(function* (
    { call, checkPolicy, entry, server }: Invocation,
    lazyControl: NonNullable<OfferedServer["lazyControl"]>
  ) {
    const { caller, toolName } = call
    const opening = Effect.mapError(openSession(server), (error) => failureResult(entry.serverId, error))
    const checkTool = makeToolCheck(toolName, entry)
    const session = yield* waitReporting(call, opening, () => ({
      _tag: "WaitingForServers",
      computer,
      servers: truncateServerNames([server.config.name])
    }))
    if (caller._tag !== "Owner" && session !== lazyControl.live) yield* checkTool
    yield* checkPolicy
    return session
  })

  return {
    /** Invokes a tool at its server, which is started for it when it is lazy. The policy may change during the start. */
    invoke: (invocation: Invocation): Effect.Effect<ToolResult> => {
      const { lazyControl, session } = invocation.server
      return lazyControl === undefined
        ? invokeAt(invocation, session)
        : Effect.scoped(
            Effect.matchEffect(openFor(invocation, lazyControl), {
              onFailure: Effect.succeed,
              onSuccess: (opened) => invokeAt(invocation, opened)
            })
          )
    },
    /** Transforms a result by the script of its server, within the time that the call has left. */
    transform: Effect.fnUntraced(function* ({ call, entry, server }: Invocation, result: ToolResult) {
      const script = vrlScript(server.config.vrl)
      if (script === undefined || Option.isNone(engine)) return result
      const { params } = call
      const tool = entry.originalName
      return yield* Effect.timeoutOrElse(transformResult(engine.value, script, result, { tool, params }), {
        duration: yield* call.remaining,
        orElse: () => Effect.as(Effect.logWarning("VRL transform timed out", { tool }), result)
      })
    })
  }
})
