import { Duration, Effect, Option, Schedule, type Scope, Stream, SubscriptionRef } from "effect"
import { sanitizeName } from "../../../domain/tools/exposedNames.ts"
import type { ServiceOutcome } from "../../../domain/devices/deviceMessages.ts"
import { failedOutcome, toolResultToOutcome } from "../../../domain/devices/serviceOutcome.ts"
import type { DeviceService } from "../../../domain/devices/serviceDefinitions.ts"
import { isJsonObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { listAllPages } from "../../shared/mcpPaging.ts"
import type { McpSession } from "../../ports/McpSession.ts"
import { makeParamsCheck } from "../../shared/paramsCheck.ts"
import { makeRefresher } from "../../shared/Refresher.ts"

/** A tool as a device offers it. */
export interface ToolService extends DeviceService {
  /** The name the session knows it by. */
  readonly toolName: string
}

/** The tools of a session as services of a device. */
export interface ServiceCatalog {
  /** The services now, and whenever they have changed, each by its name. */
  readonly changes: Stream.Stream<ReadonlyMap<string, ToolService>>
  /** Calls a service. What keeps it from giving data is an outcome that says so. */
  readonly call: (name: string, params: JsonObject) => Effect.Effect<ServiceOutcome>
}

/** How long a service's name may be: what every model takes as a function's. */
const maxServiceNameLength = 64

/** Listings are fetched this far apart, and tried again this long after one that failed. */
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

/** Offers the tools of a session, and follows their changes for as long as the scope. */
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
    Effect.tapError(({ message }) => Effect.logWarning("the tools cannot be listed", { reason: message })),
    Effect.retry(Schedule.spaced(listingDelays.retry)),
    Effect.orDie
  )

  yield* session.watch({ tools: true, resources: false, uris: [] }).pipe(
    Effect.tap(() => refresh("tools", refreshServices)),
    Effect.flatMap(Stream.runForEach(() => refresh("tools", refreshServices))),
    Effect.scoped,
    // Without word of changes, what is there now is there for good.
    Effect.catch(({ message }) =>
      Effect.logWarning("nothing tells when the tools change", { reason: message }).pipe(
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
      if (service === undefined) return failedOutcome(`There is no service '${name}' here`)
      const errors = yield* check(service.parameters, params)
      if (errors.length > 0) {
        return failedOutcome(`'${name}' was not called: its parameters do not fit. ${errors.join("; ")}`)
      }
      return yield* session.callTool(service.toolName, params).pipe(
        Effect.match({ onSuccess: toolResultToOutcome, onFailure: ({ message }) => failedOutcome(message) }),
        Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.succeed(timeoutOutcome(name)) }),
        Effect.catchDefect((defect) =>
          Effect.as(
            Effect.logError("a service failed", { service: name }, defect),
            failedOutcome("internal error")
          )
        )
      )
    })
  }
})
