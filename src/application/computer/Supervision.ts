import { Clock, Duration, Effect, Option, Ref, Result, type Scope, Stream } from "effect"
import type { Setup } from "../../domain/config/setup.ts"
import type { ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { scriptOf } from "../../domain/tools/vrl.ts"
import { startingAgain, waitAfter } from "../backOff.ts"
import type { McpConnector, McpFailure } from "../ports/McpSession.ts"
import { VrlEngine } from "../ports/VrlEngine.ts"
import { resolveEndpoint } from "./Endpoints.ts"
import type { Inputs } from "./Inputs.ts"
import { isRunning, type ReadyServer, type ServerState, watched } from "./Offer.ts"
import type { Roster } from "./Roster.ts"
import type { Secrets } from "./Secrets.ts"
import { runSession, type SessionReports } from "./ServerSession.ts"

/** A session that lasted so long was a good one: waits begin anew after it. */
const stableAfter = Duration.minutes(2)

/** How one attempt to run a server ended. */
interface Ending {
  readonly reason: string
  /** Trying again would end the same way. */
  readonly isFinal: boolean
  /** Since when the server was ready, in milliseconds since 1970; nothing if it never was. */
  readonly readySince?: number
}

const endingOf = ({ kind, message }: McpFailure): Ending => ({
  reason: message,
  isFinal: kind === "unauthorized" || kind === "forbidden"
})

const running = (
  { config, resources, session, tools }: ReadyServer,
  troubles: ReadonlyMap<string, string>
): ServerState => {
  const server = { config, session, tools, resources }
  return troubles.size === 0
    ? { _tag: "Ready", ...server }
    : { _tag: "Degraded", reason: [...troubles.values()].join("; "), ...server }
}

/** What it takes to keep one server running. */
export interface Supervised {
  readonly name: string
  /** What is configured now. */
  readonly setup: () => Setup
  /** False as soon as somebody else decides about this server: what happens here is then nobody's business. */
  readonly isSpeaking: () => boolean
  readonly roster: Roster
  readonly secrets: Secrets
}

/** The configuration of a server, while it has one. */
export const configOf = ({ config: { servers } }: Setup, name: string): ServerConfig | undefined =>
  Object.hasOwn(servers, name) ? servers[name] : undefined

/** Why the script of a server cannot be used, if it has one that cannot. */
const scriptFault = Effect.fnUntraced(function* ({ vrl }: ServerConfig) {
  const script = scriptOf(vrl)
  if (script === undefined) return undefined
  const engine = yield* Effect.serviceOption(VrlEngine)
  if (Option.isNone(engine)) return "it has a vrl script, and this Computer has no engine to run it"
  return yield* Effect.match(engine.value.check(script), {
    onFailure: ({ message }) => `its vrl script cannot be used: ${message}`,
    onSuccess: (faults) => (faults === undefined ? undefined : `its vrl script does not compile: ${faults}`)
  })
})

/** One session of a server, from its configuration to its end. */
const live = Effect.fnUntraced(function* ({
  isSpeaking,
  name,
  roster,
  secrets,
  setup
}: Supervised): Effect.fn.Return<Ending, never, Scope.Scope | McpConnector | Inputs> {
  const server = configOf(setup(), name)
  if (server === undefined) return { reason: "it is not configured any more", isFinal: true }
  const fault = yield* scriptFault(server)
  if (fault !== undefined) return { reason: fault, isFinal: true }
  const endpoint = yield* Effect.result(resolveEndpoint(server, setup(), secrets))
  if (Result.isFailure(endpoint)) return { reason: endpoint.failure.message, isFinal: true }
  const troubles = new Map<string, string>()
  const ready = yield* Ref.make<number | undefined>(undefined)

  const update = (news: Partial<ReadyServer>) =>
    roster.change((states) => {
      const state = states.get(name)
      return isSpeaking() && isRunning(state)
        ? new Map(states).set(name, running({ ...state, ...news }, troubles))
        : states
    })
  const reports: SessionReports = {
    ready: (session, listings) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.set(ready, now)).pipe(
        Effect.andThen(
          roster.change((states) =>
            isSpeaking()
              ? new Map(states).set(
                  name,
                  running({ config: configOf(setup(), name) ?? server, session, ...listings }, troubles)
                )
              : states
          )
        ),
        Effect.andThen(
          Effect.logInfo("MCP server ready", {
            server: name,
            tools: listings.tools.length,
            resources: listings.resources.length
          })
        )
      ),
    news: update,
    trouble: (about, reason) =>
      Effect.suspend(() => {
        if (troubles.get(about) === reason) return Effect.void
        if (reason === undefined) troubles.delete(about)
        else troubles.set(about, reason)
        const said =
          reason === undefined
            ? Effect.logInfo("MCP server is well again", { server: name, about })
            : Effect.logWarning("MCP server is degraded", { server: name, reason })
        return Effect.andThen(said, update({}))
      }),
    touched: roster.touch,
    watched: roster.changes.pipe(
      Stream.map((states) => states.get(name)),
      Stream.filter(isRunning),
      Stream.changesWith((one, other) => one.resources === other.resources),
      Stream.map(watched)
    )
  }
  const failure = yield* Effect.catch(runSession(name, endpoint.success, secrets, reports), (failure) =>
    Effect.succeed(failure)
  )
  const readySince = yield* Ref.get(ready)
  return { ...endingOf(failure), ...(readySince !== undefined && { readySince }) }
})

/**
 * Keeps a server running: starts it, again and again with growing waits when it ends, until trying would not help.
 * Calls that an end interrupts are never repeated.
 */
export const supervise = Effect.fnUntraced(function* (
  supervised: Supervised
): Effect.fn.Return<void, never, McpConnector | Inputs> {
  const { isSpeaking, name, roster } = supervised
  const say = (state: ServerState) =>
    roster.change((states) => (isSpeaking() ? new Map(states).set(name, state) : states))
  const due = yield* Ref.make<number | undefined>(undefined)
  let attempt = 1

  /** Says how the attempt ended, and when the next one is due if there is one. */
  const conclude = Effect.fnUntraced(function* ({ isFinal, readySince, reason }: Ending) {
    if (isFinal) {
      yield* say({ _tag: "Failed", reason })
      yield* Effect.logWarning("MCP server failed", { server: name, reason })
      return undefined
    }
    const now = yield* Clock.currentTimeMillis
    if (readySince !== undefined && now - readySince >= Duration.toMillis(stableAfter)) attempt = 1
    const wait = yield* waitAfter(startingAgain, attempt)
    attempt++
    const until = now + Duration.toMillis(wait)
    yield* say({ _tag: "BackingOff", reason, attempt, until })
    const seconds = Duration.toSeconds(wait)
    yield* Effect.logWarning("MCP server does not run, starting it again", { server: name, reason, seconds })
    return until
  })

  while (true) {
    yield* say({ _tag: "Starting", attempt })
    // What has ended is not offered any more before its session is closed, which may take its time, or fail.
    yield* live(supervised).pipe(
      Effect.catchDefect((defect) =>
        Effect.as(Effect.logError("running an MCP server failed", { server: name }, defect), {
          reason: "internal error",
          isFinal: false
        })
      ),
      Effect.flatMap(conclude),
      Effect.flatMap((until) => Ref.set(due, until)),
      Effect.scoped,
      Effect.catchDefect((defect) =>
        Effect.logError("closing an MCP server failed", { server: name }, defect)
      )
    )
    const until = yield* Ref.get(due)
    if (until === undefined) return
    const now = yield* Clock.currentTimeMillis
    yield* Effect.sleep(Duration.millis(Math.max(0, until - now)))
  }
})
