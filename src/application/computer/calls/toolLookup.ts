import { Duration, Effect, Stream } from "effect"
import { waitLimit } from "../../../domain/calls/callState.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { truncateServerNames } from "../../../domain/model/CallStatus.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { rejectRoundedIntegers, toolDisabled, toolFailed, toolNotFound } from "../../../domain/tools/errorResults.ts"
import { listCallsWithin, listToolNames } from "../../../domain/tools/naming.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { rejectToolWhileRestarting } from "../servers/rejectWhileRestarting.ts"
import type { OfferedServer } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type Call, waitReporting } from "./Call.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

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
    Effect.matchEffect(rejectToolWhileRestarting(servers, tool), {
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
      const { catalogue, starting } = servers.snapshot()
      const entry = catalogue.entries.get(toolName)
      if (entry === undefined) {
        if (catalogue.forbidden.has(toolName)) return yield* Effect.fail(toolDisabled(toolName))
        return yield* missing(toolName, toolNotFound(toolName, starting))
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
