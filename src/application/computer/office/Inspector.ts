import { Clock, Duration, Effect, type Scope, Stream } from "effect"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import {
  type InspectedConsent,
  type InspectedPart,
  type InspectedServer,
  type Inspection,
  maxParts,
  partsUri
} from "../../../domain/page/Inspection.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { matchesTool } from "../../../domain/policy/matchRule.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { readParts } from "../../shared/page/partsResource.ts"
import { Policy } from "../../ports/approvals/Policy.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ServerOutputs, OperatorHandlers } from "./operatorAccess.ts"
import {
  backgroundSessionOf,
  isOffered,
  type ServerState,
  type ServerStates,
  stateNameOf,
  uriOf
} from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

/** Characters of a text in a report. */
const maxTextLength = 2000

/** Servers and tools of a report; more are left out. */
const maxServers = 200
const maxTools = 2000

/** The shortest time between a change and its report: states change in bursts. */
const reportDelay = Duration.millis(200)

/** Interval of reading the devices and packs of MCP servers, and concurrent reads. */
const partsInterval = Duration.seconds(3)
const maxConcurrentReads = 4

const truncate = (text: string): string => text.slice(0, maxTextLength).toWellFormed()

/** When the state of a server began, and how often the server was started. */
interface ServerTimes {
  readonly tag: ServerState["_tag"]
  readonly state: InspectedServer["state"]
  readonly since: number
  readonly starts: number
}

/** Records the times of all servers as long as the scope, and calls `onChange` after each change. */
const makeServerTimes = Effect.fnUntraced(function* (servers: ServerSupervisor, onChange: () => void) {
  const clock = yield* Clock.Clock
  let times: ReadonlyMap<string, ServerTimes> = new Map()
  const nextTimes = (known: ServerTimes | undefined, server: ServerState): ServerTimes => {
    const { _tag: tag } = server
    const state = stateNameOf(server)
    const starts = (known?.starts ?? 0) + (tag === "Starting" && known?.tag !== tag ? 1 : 0)
    return { tag, state, since: known?.state === state ? known.since : clock.currentTimeMillisUnsafe(), starts }
  }
  const record = (states: ServerStates) => {
    times = new Map([...states].map(([name, state]) => [name, nextTimes(times.get(name), state)]))
  }
  record(servers.snapshot().states)
  const recording = Stream.runForEach(servers.changes, (states) =>
    Effect.sync(() => {
      record(states)
      onChange()
    })
  )
  yield* Effect.forkScoped(recording, { startImmediately: true })
  return (name: string): Pick<ServerTimes, "since" | "starts"> => times.get(name) ?? { since: 0, starts: 0 }
})

const reasonOf = (state: ServerState): string | undefined => {
  if ("publicReason" in state) return state.publicReason
  if (state._tag === "Degraded") return state.reason
  if (state._tag === "Starting") return state.failure?.publicReason
  if (state._tag === "Idle") return state.failure?.publicReason ?? "lazy: starts on request"
  if (state._tag !== "Stopped") return undefined
  return state.reason === "disabled" ? "disabled in the configuration" : "stopped by its owner"
}

const inspectServer = (
  name: string,
  state: ServerState,
  { since, starts }: Pick<ServerTimes, "since" | "starts">,
  stderr: ReadonlyArray<string> | undefined
): InspectedServer => {
  const { resources, tools } = isOffered(state) ? state : { resources: [], tools: [] }
  const reason = reasonOf(state)
  return {
    name: truncate(name),
    state: stateNameOf(state),
    since,
    restarts: Math.max(0, starts - 1),
    tools: tools.length,
    windows: resources.filter((resource) => isWindowUri(uriOf(resource))).length,
    ...definedOnly({ reason: reason && truncate(reason), stderr })
  }
}

/** Reports the states of the MCP servers of a Computer to the operators of its Server, as long as the scope. */
export const makeInspector = Effect.fnUntraced(function* (
  servers: ServerSupervisor,
  outputs: ServerOutputs
): Effect.fn.Return<Required<Pick<OperatorHandlers, "inspect">>, never, Scope.Scope | Policy> {
  const { approve } = yield* ComputerSettings
  const hasPolicy = (yield* Policy) !== undefined
  const timesOf = yield* makeServerTimes(servers, outputs.wake)
  let parts: ReadonlyArray<InspectedPart> = []
  let revision = 0
  let last = ""

  const serversWithParts = () =>
    servers.snapshot().running.filter(({ resources }) => resources.some((resource) => uriOf(resource) === partsUri))
  const refreshParts = Effect.gen(function* () {
    const reads = serversWithParts().flatMap((server) => {
      const session = backgroundSessionOf(server)
      return session === undefined ? [] : [readParts(server.config.name, session)]
    })
    parts = (yield* Effect.all(reads, { concurrency: maxConcurrentReads })).flatMap((read) => read ?? [])
  })

  const consentOf = ({ autoApply, tool, ...names }: CatalogueEntry): InspectedConsent["rule"] => {
    if (hasPolicy) return "decided by a policy"
    const runs = autoApply || matchesTool(approve, { ...names, tool: tool.name })
    return runs ? "runs without consent" : "needs consent"
  }

  const inspectAll = (): Inspection => {
    const { catalogue, states } = servers.snapshot()
    const shown = [...states].slice(0, maxServers)
    const exposed = [...catalogue.entries].map(([tool, entry]) => ({ tool: truncate(tool), rule: consentOf(entry) }))
    const forbidden = [...catalogue.forbidden].map((tool) => ({ tool: truncate(tool), rule: "forbidden" }) as const)
    return {
      servers: shown.map(([name, state]) => inspectServer(name, state, timesOf(name), outputs.linesOf(name))),
      consent: [...exposed, ...forbidden].slice(0, maxTools),
      parts: parts.slice(0, maxParts)
    }
  }

  /** Waits for the next change. MCP servers do not announce changes of their parts. */
  const nextChange = Effect.suspend(() =>
    serversWithParts().length > 0 ? Effect.raceFirst(outputs.changed, Effect.sleep(partsInterval)) : outputs.changed
  )

  /** The inspection with its revision, which changes with its content. */
  const current = () => {
    const inspection = inspectAll()
    const text = JSON.stringify(inspection)
    if (text !== last) {
      last = text
      revision += 1
    }
    return { revision, inspection }
  }

  return {
    /**
     * Replies once the inspection differs from the revision of the request, or its time is over. Leaves out stderr when
     * the reply does not fit into a message.
     */
    inspect: Effect.fnUntraced(function* ({ revision: seen, waitMillis }) {
      const changed = Effect.whileLoop({
        while: () => current().revision === seen,
        body: () => nextChange.pipe(Effect.andThen(Effect.sleep(reportDelay)), Effect.andThen(refreshParts)),
        step: () => undefined
      })
      yield* refreshParts
      yield* Effect.timeoutOption(changed, Duration.millis(waitMillis))
      const { inspection, revision: shown } = current()
      const shortened = inspection.servers.map(({ stderr: _, ...server }) => server)
      return [
        { revision: shown, inspection },
        { revision: shown, inspection: { ...inspection, servers: shortened } }
      ]
    })
  }
})
