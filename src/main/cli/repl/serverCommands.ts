import { Clock, Effect, Match, Result, SubscriptionRef } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { parseConfig } from "../../../domain/config/parseConfig.ts"
import { inputIdsOf } from "../../../domain/config/Setup.ts"
import { formatIssues, type ValidationIssue } from "../../../domain/validation.ts"
import { formatColumns, formatServerLocation } from "../output/format.ts"
import { failCommand, requireSuccess, toCommandFailed } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { completeFirst, parseJsonResult, type ReplCommand } from "./ReplCommand.ts"
import { isOffered, type ServerState, stateNameOf } from "../../../application/computer/servers/ServersSnapshot.ts"
import { isWindowUri } from "../../../domain/desktop/WindowUri.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import type { Catalogue } from "../../../domain/tools/catalogue.ts"
import { formatQuantity } from "../../../domain/text/format.ts"

/** What is missing of the windows and documents of a running server with resources. */
const subscriptionNote = (state: ServerState): string =>
  isOffered(state) && state.resources.length > 0 && !state.session.info.capabilities.subscribe
    ? "lacks subscribe: only --all-windows shows its windows and documents, without updates"
    : ""

/** The reason for a state and the next attempt; `now` in milliseconds since the epoch. */
export const stateReason = (state: ServerState, now: number): string => {
  if (state._tag === "Ready") return subscriptionNote(state)
  if (state._tag === "Degraded") return [state.reason, subscriptionNote(state)].filter(Boolean).join("; ")
  if (state._tag === "Idle") return state.failure?.reason ?? "starts on request"
  if (state._tag === "Starting") return [state.failure?.reason, `attempt ${state.attempt}`].filter(Boolean).join("; ")
  if (state._tag !== "BackingOff") return state.reason
  const seconds = Math.max(0, Math.ceil((state.retryAt - now) / 1000))
  return `${state.reason}; attempt ${state.attempt} in ${seconds} s`
}

/** The number of tools and windows of a running server; empty for others. */
export const formatServerOffer = (name: string, state: ServerState, { entries }: Catalogue): string => {
  if (!isOffered(state)) return ""
  const tools = [...entries.values()].filter(({ server }) => server === name).length
  const windows = state.resources.filter(({ uri }) => isWindowUri(stringOrEmpty(uri))).length
  return `${formatQuantity(tools, "tool")}, ${formatQuantity(windows, "window")}`
}

/** True for a server that does not run although it should: a lazy one that could not start, or was lost, has failed. */
const isMissing = (state: ServerState) => !isOffered(state) || (state._tag === "Idle" && state.failure !== undefined)

export const officeStatusLine = Effect.gen(function* () {
  const computer = yield* Computer
  const office = yield* computer.office
  if (office === undefined) return "in no office"
  const member = yield* computer.member
  if (member === undefined) return `joining office ${office}`
  return Match.valueTags(yield* SubscriptionRef.get(member.status), {
    Joined: () => `in office ${office}`,
    Disconnected: ({ reason }) => `disconnected from office ${office}, reconnecting: ${reason}`,
    Failed: ({ error }) => `membership of office ${office} ended: ${error.message}`
  })
})

/** The names of the configured servers, in the order of the configuration. */
export const serverNames = Computer.use(({ setup }) => Effect.map(setup, ({ config }) => Object.keys(config.servers)))

/** The configuration of a server; fails when no server has this name. */
export const requireServer = Effect.fnUntraced(function* (name: string) {
  const { config } = yield* Computer.use(({ setup }) => setup)
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return server
  return yield* failCommand(`No server '${name}' is configured${didYouMean(name, Object.keys(config.servers))}`)
})

/** Formats the errors of one server, with paths relative to the server. */
const formatServerErrors = (errors: ReadonlyArray<ValidationIssue>): string =>
  formatIssues(errors.map(({ issue, path }) => ({ path: path.slice(2), issue })))

/** Parses one server in any dialect: `{command, args}`, `{url}` or A2C. */
const parseServerConfig = (name: string, text: string) => {
  const value = Result.mapError(parseJsonResult(text), (reason) => `the configuration is not JSON: ${reason}`)
  return Result.flatMap(value, (server) => {
    const { config, envFiles, errors, warnings } = parseConfig({ mcpServers: { [name]: server } })
    if (envFiles.size > 0) {
      return Result.fail("envFile: works in configuration files only; use env, or add the server to a file")
    }
    const read = config?.servers[name]
    return read === undefined
      ? Result.fail(formatServerErrors(errors))
      : Result.succeed({ server: read, warnings: warnings.length === 0 ? "" : formatServerErrors(warnings) })
  })
}

/** Adds the offer of a started server to a message; fails with the reason when it does not run. */
const startOutcome = Effect.fnUntraced(function* (name: string, message: string) {
  const computer = yield* Computer
  const state = (yield* computer.servers).get(name)
  if (state === undefined) return `${message}: `
  if (!isMissing(state)) return `${message}: ${formatServerOffer(name, state, yield* computer.catalogue)}`
  const reason = stateReason(state, yield* Clock.currentTimeMillis)
  const label = [stateNameOf(state), reason].filter(Boolean).join(": ")
  return yield* failCommand(`${message}, but does not run: ${label}`)
})

const serverActionCommand = (verb: "start" | "stop" | "restart", help: string, doneText: string): ReplCommand => ({
  name: `server ${verb}`,
  parameters: "NAME",
  help,
  run: Effect.fnUntraced(function* ([name = ""]) {
    yield* requireServer(name)
    yield* Effect.mapError((yield* Computer)[verb](name), toCommandFailed)
    return verb === "stop" ? `${doneText} ${name}` : yield* startOutcome(name, `${doneText} ${name}`)
  }),
  complete: completeFirst(serverNames)
})

export const serverCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "servers",
    help: "list the configured servers",
    run: Effect.fnUntraced(function* () {
      const computer = yield* Computer
      const states = yield* computer.servers
      const { config } = yield* computer.setup
      const rows = Object.values(config.servers).map((server) => {
        const state = states.get(server.name)
        const inputs = inputIdsOf(server)
        return [
          server.name,
          state === undefined ? "" : stateNameOf(state),
          server.type,
          formatServerLocation(server),
          [server.disabled ? "disabled" : "", inputs.length > 0 ? `inputs ${inputs.join(", ")}` : ""]
            .filter(Boolean)
            .join("; ")
        ]
      })
      return formatColumns(rows, "no servers are configured")
    })
  },
  {
    name: "server add",
    parameters: "NAME {JSON}",
    help: "add a server, {command, args}, {url} or as in a configuration file, and start it",
    run: Effect.fnUntraced(function* ([name = "", text = ""]) {
      const computer = yield* Computer
      const { config, variables } = yield* computer.setup
      if (Object.hasOwn(config.servers, name)) {
        return yield* failCommand(`A server '${name}' is configured already: server remove ${name} first`)
      }
      const read = parseServerConfig(name, text)
      const { server, warnings } = yield* requireSuccess(read, (reason) => `Cannot add ${name}: ${reason}`)
      yield* computer.reconfigure({ config: { ...config, servers: { ...config.servers, [name]: server } }, variables })
      const note = warnings === "" ? "" : `\nnote: ${warnings}`
      if (server.disabled) return `added ${name}, which is disabled${note}`
      yield* Effect.mapError(computer.start(name), toCommandFailed)
      return `${yield* startOutcome(name, `added ${name}`)}${note}`
    })
  },
  {
    name: "server remove",
    parameters: "NAME",
    help: "stop a server and remove it until the Computer restarts",
    run: Effect.fnUntraced(function* ([name = ""]) {
      yield* requireServer(name)
      const computer = yield* Computer
      const { config, variables } = yield* computer.setup
      const { [name]: _, ...others } = config.servers
      yield* computer.reconfigure({ config: { ...config, servers: others }, variables })
      return `removed ${name}`
    }),
    complete: completeFirst(serverNames)
  },
  serverActionCommand("start", "start a server, even a disabled one", "started"),
  serverActionCommand("stop", "stop a server until it is started again", "stopped"),
  serverActionCommand("restart", "stop a server and start it again", "restarted")
]
