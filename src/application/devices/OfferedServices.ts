import { Duration, Effect, Option, Schedule, type Scope, Stream, SubscriptionRef } from "effect"
import { plainName } from "../../domain/bridge/names.ts"
import type { Outcome } from "../../domain/devices/messages.ts"
import { fromMcpResult } from "../../domain/devices/results.ts"
import type { Service } from "../../domain/devices/services.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { allPages } from "../computer/paging.ts"
import type { McpSession } from "../ports/McpSession.ts"
import { makeParamsCheck } from "../paramsCheck.ts"
import { makeRefresher } from "../Refresher.ts"

/** A tool as a device offers it. */
export interface OfferedService extends Service {
  /** The name the session knows it by. */
  readonly tool: string
}

/** The tools of a session as services of a device. */
export interface OfferedServices {
  /** The services now, and whenever they have changed, each by its name. */
  readonly changes: Stream.Stream<ReadonlyMap<string, OfferedService>>
  /** Calls a service. What keeps it from giving data is an outcome that says so. */
  readonly call: (name: string, params: JsonObject) => Effect.Effect<Outcome>
}

/** How long a service's name may be: what every model takes as a function's. */
const nameBudget = 64

/** Listings are fetched this far apart, and tried again this long after one that failed. */
const pause = { between: Duration.millis(100), again: Duration.seconds(5) }

const failed = (error: string): Outcome => ({ success: false, error })

const serviceOf = ({ description, inputSchema }: JsonObject): Service => ({
  description: typeof description === "string" ? description : "",
  parameters: isJsonObject(inputSchema) ? inputSchema : { type: "object", properties: {} }
})

const servicesOf = (tools: ReadonlyArray<JsonObject>): ReadonlyMap<string, OfferedService> => {
  const services = new Map<string, OfferedService>()
  for (const tool of tools) {
    const { name } = tool
    if (typeof name !== "string") continue
    const plain = plainName(name, nameBudget)
    if (!services.has(plain)) services.set(plain, { ...serviceOf(tool), tool: name })
  }
  return services
}

const isSame = (one: ReadonlyMap<string, OfferedService>, other: ReadonlyMap<string, OfferedService>) =>
  JSON.stringify([...one]) === JSON.stringify([...other])

/** Offers the tools of a session, and follows their changes for as long as the scope. */
export const offerServices = Effect.fnUntraced(function* (
  session: McpSession,
  callTimeout: Duration.Duration
): Effect.fn.Return<OfferedServices, never, Scope.Scope> {
  const check = yield* makeParamsCheck
  const offered = yield* SubscriptionRef.make<ReadonlyMap<string, OfferedService> | undefined>(undefined)
  const { refresh } = yield* makeRefresher(pause.between)

  const relist = allPages(session.listTools).pipe(
    Effect.flatMap((tools) => {
      const services = servicesOf(tools)
      return SubscriptionRef.updateSome(offered, (before) =>
        before !== undefined && isSame(before, services) ? Option.none() : Option.some(services)
      )
    }),
    Effect.tapError(({ message }) => Effect.logWarning("the tools cannot be listed", { reason: message })),
    Effect.retry(Schedule.spaced(pause.again)),
    Effect.orDie
  )

  yield* session.watch({ tools: true, resources: false, uris: [] }).pipe(
    Effect.tap(() => refresh("tools", relist)),
    Effect.flatMap(Stream.runForEach(() => refresh("tools", relist))),
    Effect.scoped,
    // Without word of changes, what is there now is there for good.
    Effect.catch(({ message }) =>
      Effect.logWarning("nothing tells when the tools change", { reason: message }).pipe(
        Effect.andThen(refresh("tools", relist))
      )
    ),
    Effect.forkScoped
  )

  const late = (name: string) =>
    failed(`'${name}' did not answer within ${Duration.toSeconds(callTimeout)} seconds`)

  return {
    changes: Stream.filter(SubscriptionRef.changes(offered), (services) => services !== undefined),
    call: Effect.fnUntraced(function* (name, params) {
      const service = SubscriptionRef.getUnsafe(offered)?.get(name)
      if (service === undefined) return failed(`There is no service '${name}' here`)
      const faults = yield* check(service.parameters, params)
      if (faults.length > 0) {
        return failed(`'${name}' was not called: its parameters do not fit. ${faults.join("; ")}`)
      }
      return yield* session.callTool(service.tool, params).pipe(
        Effect.match({ onSuccess: fromMcpResult, onFailure: ({ message }) => failed(message) }),
        Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.succeed(late(name)) }),
        Effect.catchDefect((defect) =>
          Effect.as(Effect.logError("a service failed", { service: name }, defect), failed("internal error"))
        )
      )
    })
  }
})
