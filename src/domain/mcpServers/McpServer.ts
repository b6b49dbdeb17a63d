import { Duration } from "effect"
import { type Backoff, backoffMillis, restartBackoff } from "../time/backoff.ts"
import type { ServerConfig } from "../config/computerConfig.ts"
import { definedOnly } from "../objects.ts"
import type { ServerCatalogue } from "../tools/ServerCatalogue.ts"

/** Why a request to an MCP server, or its session, failed. */
export type McpErrorReason = "protocol" | "unauthorized" | "forbidden" | "closed" | "unavailable" | "unsupported"

/** What an MCP server lists, in the form that MCP requires. */
export type McpListings = Omit<ServerCatalogue, "info" | "freshUntil">

/** What an MCP server offers to an office; the application adds its session. */
export interface McpOffer extends McpListings {
  readonly config: ServerConfig
}

/** What a server offered when it last ran. */
export type LastOffer = Pick<McpOffer, "config" | "tools" | "resources">

/** Why a session ended or did not start; `misconfigured` where the server needs another configuration. */
export interface SessionFailure {
  readonly reason: McpErrorReason | "misconfigured"
  readonly message: string
  /** The last line that the process wrote to stderr. */
  readonly output?: string
}

/**
 * The life of an MCP server of a Computer. `run` numbers its starts by a configuration or by its owner; a run restarts its
 * sessions. Times are in milliseconds since 1970.
 */
export type McpServer<O extends McpOffer> = { readonly run: number } & (
  | { readonly _tag: "Stopped"; readonly reason: "disabled" | "stopped_by_user" }
  /**
   * A session starts, or a lazy server is listed. `attempt` counts from 1 and restarts after a stable session. `failure` ended the
   * attempt before.
   */
  | {
      readonly _tag: "Starting"
      readonly attempt: number
      readonly failure?: SessionFailure
      readonly last?: LastOffer
    }
  /** The server runs; `problems` that do not end the session are by their source. */
  | {
      readonly _tag: "Running"
      readonly lifecycle: "eager" | "lazy"
      readonly attempt: number
      readonly offer: O
      readonly since: number
      readonly problems: ReadonlyMap<string, string>
    }
  /** A lazy server that a request starts from `retryAt` on. `failures` are its failed starts since it last ran. */
  | {
      readonly _tag: "Idle"
      readonly offer: O
      readonly failure?: SessionFailure
      readonly failures: number
      readonly retryAt: number
    }
  /** A request starts a lazy server. */
  | { readonly _tag: "Waking"; readonly offer: O; readonly failure?: SessionFailure; readonly failures: number }
  | {
      readonly _tag: "BackingOff"
      readonly attempt: number
      readonly retryAt: number
      readonly failure: SessionFailure
      readonly last?: LastOffer
    }
  /** The failure is permanent. */
  | { readonly _tag: "Failed"; readonly failure: SessionFailure }
)

/** What the owner or a configuration wants. `run` is the number of a run that begins. */
export type OwnerEvent =
  | { readonly _tag: "Start"; readonly run: number }
  | { readonly _tag: "Stop" }
  /** Another configuration that the session depends on. */
  | { readonly _tag: "Reload"; readonly run: number; readonly disabled: boolean }
  /** Another configuration that the session does not depend on. */
  | { readonly _tag: "Reconfigure"; readonly config: ServerConfig }

/** What happens in a run. `jitter` is the random part of a delay, as a fraction of it. */
export type RunEvent<O extends McpOffer> = { readonly run: number } & (
  | { readonly _tag: "Listed"; readonly offer: O }
  /** A request needs the server. */
  | { readonly _tag: "Requested"; readonly at: number }
  | { readonly _tag: "Ready"; readonly offer: O; readonly at: number }
  /** A session did not start, or that of a running server ended. */
  | {
      readonly _tag: "StartFailed" | "Lost"
      readonly failure: SessionFailure
      readonly at: number
      readonly jitter: number
    }
  | { readonly _tag: "ListingsChanged"; readonly listings: Partial<McpListings> }
  /** A problem that does not end the session; without a reason it is over. */
  | { readonly _tag: "HealthChanged"; readonly source: string; readonly reason: string | undefined }
  /** No request used a lazy server for its idle time. */
  | { readonly _tag: "IdleTimedOut" }
  | { readonly _tag: "RetryDue" }
)

export type McpServerEvent<O extends McpOffer> = OwnerEvent | RunEvent<O>

/** Work of a run, which begins when the earlier work of the server has ended. */
export type McpServerWork =
  /** Opens a session, or lists a lazy server. */
  | { readonly _tag: "Open" }
  /** Sends `RetryDue` at this time. */
  | { readonly _tag: "Retry"; readonly at: number }

export type McpServerCommand =
  | McpServerWork
  /** Interrupts the work, and waits until the session is closed. */
  | { readonly _tag: "Close" }

/** The reason of a failure for the owner: it may quote stderr. */
export const fullReason = ({ message, output }: SessionFailure): string =>
  output === undefined ? message : `${message}: ${output}`

type State<O extends McpOffer, T extends McpServer<O>["_tag"]> = Extract<McpServer<O>, { readonly _tag: T }>
type EndEvent = Extract<RunEvent<never>, { readonly _tag: "Lost" | "StartFailed" }>
type Step<O extends McpOffer> = readonly [McpServer<O>, ReadonlyArray<McpServerCommand>]

/** For starts on request: a caller waits. */
const requestBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(10) }

/** A session of this duration was stable: the backoff restarts after it. */
const stableMillis = Duration.toMillis(Duration.minutes(2))

const open: McpServerCommand = { _tag: "Open" }
const close: McpServerCommand = { _tag: "Close" }

/** What a server offers, or offered when it last ran. */
export const lastOfferOf = <O extends McpOffer>(server: McpServer<O>): LastOffer | undefined => {
  if ("offer" in server) {
    const { config, resources, tools } = server.offer
    return { config, tools, resources }
  }
  return "last" in server ? server.last : undefined
}

const startingOf = <O extends McpOffer>(run: number, last?: LastOffer): State<O, "Starting"> => ({
  _tag: "Starting",
  run,
  attempt: 1,
  ...definedOnly({ last })
})

/** A server of the configuration, whose run has not begun. */
export const initialServer = (run: number, disabled: boolean): McpServer<never> =>
  disabled ? { _tag: "Stopped", run, reason: "disabled" } : startingOf(run)

const reconfigured = <O extends McpOffer>(server: McpServer<O>, config: ServerConfig): McpServer<O> => {
  if ("offer" in server) return { ...server, offer: { ...server.offer, config } }
  return "last" in server && server.last !== undefined ? { ...server, last: { ...server.last, config } } : server
}

const ran = <O extends McpOffer>(
  { run }: McpServer<O>,
  lifecycle: "eager" | "lazy",
  attempt: number,
  { at: since, offer }: { readonly at: number; readonly offer: O }
): Step<O> => [{ _tag: "Running", run, lifecycle, attempt, offer, since, problems: new Map() }, []]

/** The next state of an eager server whose session ended, or did not start, in this attempt. */
const restarted = <O extends McpOffer>(
  server: McpServer<O>,
  attempt: number,
  { at, failure, jitter, run }: EndEvent
): Step<O> => {
  const isPermanent = ["unauthorized", "forbidden", "misconfigured"].includes(failure.reason)
  if (isPermanent) return [{ _tag: "Failed", run, failure }, []]
  const retryAt = at + backoffMillis(restartBackoff, attempt, jitter)
  const last = lastOfferOf(server)
  return [
    { _tag: "BackingOff", run, attempt: attempt + 1, retryAt, failure, ...definedOnly({ last }) },
    [{ _tag: "Retry", at: retryAt }]
  ]
}

const withHealth = <O extends McpOffer>(
  server: State<O, "Running">,
  { reason, source }: { readonly source: string; readonly reason: string | undefined }
): Step<O> => {
  if (server.problems.get(source) === reason) return [server, []]
  const problems = new Map(server.problems)
  if (reason === undefined) problems.delete(source)
  else problems.set(source, reason)
  return [{ ...server, problems }, []]
}

const onRunningEvent = <O extends McpOffer>(server: State<O, "Running">, event: RunEvent<O>): Step<O> => {
  const { attempt, lifecycle, offer, run, since } = server
  const idle = { _tag: "Idle", run, offer, failures: 0, retryAt: 0 } as const
  if (event._tag === "ListingsChanged") return [{ ...server, offer: { ...offer, ...event.listings } }, []]
  if (event._tag === "HealthChanged") return withHealth(server, event)
  if (event._tag === "IdleTimedOut") return [idle, []]
  if (event._tag !== "Lost") return [server, []]
  const { at, failure } = event
  if (lifecycle === "lazy") return [{ ...idle, failure }, []]
  return restarted(server, at - since >= stableMillis ? 1 : attempt, event)
}

const onRunEvent = <O extends McpOffer>(server: McpServer<O>, event: RunEvent<O>): Step<O> => {
  const { run } = server
  switch (server._tag) {
    case "Starting":
      if (event._tag === "Ready") return ran(server, "eager", server.attempt, event)
      if (event._tag === "Listed") return [{ _tag: "Idle", run, offer: event.offer, failures: 0, retryAt: 0 }, []]
      return event._tag === "StartFailed" ? restarted(server, server.attempt, event) : [server, []]
    case "Running":
      return onRunningEvent(server, event)
    case "Idle": {
      if (event._tag !== "Requested" || event.at < server.retryAt) return [server, []]
      const { retryAt: _, ...rest } = server
      return [{ ...rest, _tag: "Waking" }, [open]]
    }
    case "Waking": {
      if (event._tag === "Ready") return ran(server, "lazy", 1, event)
      if (event._tag !== "StartFailed") return [server, []]
      const { at, failure, jitter } = event
      const failures = server.failures + 1
      const retryAt = at + backoffMillis(requestBackoff, failures, jitter)
      return [{ ...server, _tag: "Idle", failure, failures, retryAt }, []]
    }
    case "BackingOff": {
      if (event._tag !== "RetryDue") return [server, []]
      const { retryAt: _, ...rest } = server
      return [{ ...rest, _tag: "Starting" }, [open]]
    }
    case "Stopped":
    case "Failed":
      return [server, []]
  }
}

/** Gives the next state of an MCP server and what to do for it. Events of an earlier run change nothing. */
export const transition = <O extends McpOffer>(server: McpServer<O>, event: McpServerEvent<O>): Step<O> => {
  const isStarted = "offer" in server || server._tag === "Starting"
  if (event._tag === "Start") return isStarted ? [server, []] : [startingOf(event.run, lastOfferOf(server)), [open]]
  if (event._tag === "Stop") return [{ _tag: "Stopped", run: server.run, reason: "stopped_by_user" }, [close]]
  if (event._tag === "Reload") {
    return [initialServer(event.run, event.disabled), event.disabled ? [close] : [close, open]]
  }
  if (event._tag === "Reconfigure") return [reconfigured(server, event.config), []]
  return event.run === server.run ? onRunEvent(server, event) : [server, []]
}
