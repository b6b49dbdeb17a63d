import { Duration, Effect, Option, Schedule, type Scope, Stream, SubscriptionRef } from "effect"
import { sanitizeName } from "../../../domain/tools/exposedNames.ts"
import type { ServiceOutcome } from "../../../domain/devices/deviceMessages.ts"
import { failedOutcome, toolResultToOutcome } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { listAllPages } from "../../shared/paging.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRefresher } from "../../shared/Refresher.ts"

export interface ToolService extends DeviceService {
  /** Name of the tool in the session. */
  readonly toolName: string
}

/** Exposes the tools of a session as services of a device. */
export interface ServiceCatalog {
  /** Services by name: the current ones, then every change. */
  readonly changes: Stream.Stream<ReadonlyMap<string, ToolService>>
  /** Calls a service; every failure becomes an outcome. */
  readonly call: (name: string, params: JsonObject) => Effect.Effect<ServiceOutcome>
}

/** The longest function name that every model API accepts. */
const maxServiceNameLength = 64

const listingDelays = { debounce: Duration.millis(100), retry: Duration.seconds(5) }

const toService = ({ description, inputSchema }: JsonObject): DeviceService => ({
  description: stringOrEmpty(description),
  parameters: isJsonObject(inputSchema) ? inputSchema : { type: "object", properties: {} }
})

const toServices = (tools: ReadonlyArray<JsonObject>): ReadonlyMap<string, ToolService> => {
  const services = new Map<string, ToolService>()
  for (const tool of tools) {
    const { name } = tool
    if (typeof name !== "string") continue
    const serviceName = sanitizeName(name, maxServiceNameLength)
    if (!services.has(serviceName)) services.set(serviceName, { ...toService(tool), toolName: name })
  }
  return services
}

const hasSameServices = (one: ReadonlyMap<string, ToolService>, other: ReadonlyMap<string, ToolService>) =>
  JSON.stringify([...one]) === JSON.stringify([...other])

/** Makes the catalog of a session, and follows its changes until the scope closes. */
export const makeServiceCatalog = Effect.fnUntraced(function* (
  session: McpSession,
  callTimeout: Duration.Duration
): Effect.fn.Return<ServiceCatalog, never, Scope.Scope> {
  const check = yield* makeParamsCheck
  const current = yield* SubscriptionRef.make<ReadonlyMap<string, ToolService> | undefined>(undefined)
  const { refresh } = yield* makeRefresher(listingDelays.debounce)

  const refreshServices = listAllPages(session.listTools).pipe(
    Effect.flatMap((tools) => {
      const services = toServices(tools)
      return SubscriptionRef.updateSome(current, (before) =>
        before !== undefined && hasSameServices(before, services) ? Option.none() : Option.some(services)
      )
    }),
    Effect.tapError(({ message }) => Effect.logWarning("listing tools failed", { reason: message })),
    Effect.retry(Schedule.spaced(listingDelays.retry)),
    Effect.orDie
  )

  yield* session.watch({ tools: true, resources: false, uris: [] }).pipe(
    Effect.tap(() => refresh("tools", refreshServices)),
    Effect.flatMap(Stream.runForEach(() => refresh("tools", refreshServices))),
    Effect.scoped,
    // Without change notifications the first listing is final.
    Effect.catch(({ message }) =>
      Effect.logWarning("tool changes cannot be watched", { reason: message }).pipe(
        Effect.andThen(refresh("tools", refreshServices))
      )
    ),
    Effect.forkScoped
  )

  const timeoutOutcome = (name: string) =>
    failedOutcome(`'${name}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`)

  return {
    changes: Stream.filter(SubscriptionRef.changes(current), (services) => services !== undefined),
    call: Effect.fnUntraced(function* (name, params) {
      const service = SubscriptionRef.getUnsafe(current)?.get(name)
      if (service === undefined) return failedOutcome(`The device has no service '${name}'`)
      const errors = yield* check(service.parameters, params)
      if (errors.length > 0) {
        return failedOutcome(`'${name}' was not called: invalid parameters. ${errors.join("; ")}`)
      }
      return yield* session.callTool(service.toolName, params).pipe(
        Effect.match({ onSuccess: toolResultToOutcome, onFailure: ({ message }) => failedOutcome(message) }),
        Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.succeed(timeoutOutcome(name)) }),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("service call failed", { service: name }, defect), failedOutcome("internal error"))
        )
      )
    })
  }
})
