import { Duration, Effect, Option, Schedule, Stream, SubscriptionRef } from "effect"
import { sanitizeName } from "../../../domain/tools/exposedNames.ts"
import { failedOutcome, toolResultToOutcome } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { listAllPages } from "../../shared/paging.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRefresher } from "../../shared/Refresher.ts"

/** A service, and the name of its tool in the session. */
type ToolService = DeviceService & { readonly toolName: string }

export type ServiceCatalog = Effect.Success<ReturnType<typeof makeServiceCatalog>>

/** The longest function name that every model API accepts. */
const maxServiceNameLength = 64

const listingDelays = { debounce: Duration.millis(100), retry: Duration.seconds(5) }

const toServices = (tools: ReadonlyArray<JsonObject>): ReadonlyMap<string, ToolService> => {
  const services = new Map<string, ToolService>()
  for (const { description, inputSchema, name } of tools) {
    if (typeof name !== "string") continue
    const serviceName = sanitizeName(name, maxServiceNameLength)
    if (services.has(serviceName)) continue
    const parameters = isJsonObject(inputSchema) ? inputSchema : { type: "object", properties: {} }
    services.set(serviceName, { description: stringOrEmpty(description), parameters, toolName: name })
  }
  return services
}

/** Exposes the tools of a session as services of a device, and follows their changes until the scope closes. */
export const makeServiceCatalog = Effect.fnUntraced(function* (session: McpSession, callTimeout: Duration.Duration) {
  const check = yield* makeParamsCheck
  const current = yield* SubscriptionRef.make<ReadonlyMap<string, ToolService> | undefined>(undefined)
  const { refresh } = yield* makeRefresher(listingDelays.debounce)

  const refreshServices = listAllPages(session.listTools).pipe(
    Effect.flatMap((tools) => {
      const services = toServices(tools)
      return SubscriptionRef.updateSome(current, (before) =>
        before !== undefined && JSON.stringify([...before]) === JSON.stringify([...services])
          ? Option.none()
          : Option.some(services)
      )
    }),
    Effect.tapError(({ message }) => Effect.logWarning("listing tools failed", { reason: message })),
    Effect.retry(Schedule.spaced(listingDelays.retry)),
    Effect.orDie
  )

  const requestRefresh = refresh("tools", refreshServices)
  yield* session.watch({ tools: true, resources: false, uris: [] }).pipe(
    Effect.tap(requestRefresh),
    Effect.flatMap(Stream.runForEach(() => requestRefresh)),
    Effect.scoped,
    // Without change notifications the first listing is final.
    Effect.catch(({ message }) =>
      Effect.andThen(Effect.logWarning("tool changes cannot be watched", { reason: message }), requestRefresh)
    ),
    Effect.forkScoped
  )

  return {
    /** Services by name: the current ones, then every change. */
    changes: Stream.filter(SubscriptionRef.changes(current), (services) => services !== undefined),
    /** Calls a service; every failure becomes an outcome. */
    call: Effect.fnUntraced(function* (name: string, params: JsonObject) {
      const service = SubscriptionRef.getUnsafe(current)?.get(name)
      if (service === undefined) return failedOutcome(`The device has no service '${name}'`)
      const errors = yield* check(service.parameters, params)
      if (errors.length > 0) {
        return failedOutcome(`'${name}' was not called: invalid parameters. ${errors.join("; ")}`)
      }
      const late = `'${name}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`
      return yield* session.callTool(service.toolName, params).pipe(
        Effect.match({ onSuccess: toolResultToOutcome, onFailure: ({ message }) => failedOutcome(message) }),
        Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.succeed(failedOutcome(late)) }),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("service call failed", { service: name }, defect), failedOutcome("internal error"))
        )
      )
    })
  }
})
