import { Effect, Result } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import type { UnknownServer } from "../../../application/computer/servers/ServerSupervisor.ts"
import { parseConfig } from "../../../domain/config/parseConfig.ts"
import { inputIdsOf } from "../../../domain/config/Setup.ts"
import { formatIssues, type ValidationIssue } from "../../../domain/validation.ts"
import { formatColumns, formatServerLocation } from "../output/format.ts"
import { toCommandFailed, failCommand } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { completeFirst, parseJsonResult, type ReplCommand } from "./ReplCommand.ts"
import { formatServerOffer, stateLabel, notRunningReason } from "./statusText.ts"

/** The names of the configured servers, in the order of the configuration. */
export const serverNames = Computer.use(({ setup }) => Effect.map(setup, ({ config }) => Object.keys(config.servers)))

/** The configuration of a server; fails when no server has this name. */
export const requireServer = Effect.fnUntraced(function* (name: string) {
  const { config } = yield* Computer.use(({ setup }) => setup)
  const server = Object.hasOwn(config.servers, name) ? config.servers[name] : undefined
  if (server !== undefined) return server
  return yield* failCommand(`No server '${name}' is configured${didYouMean(name, Object.keys(config.servers))}`)
})

const serversCommand: ReplCommand = {
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
        state === undefined ? "" : stateLabel(state),
        server.type,
        formatServerLocation(server),
        [server.disabled ? "disabled" : "", inputs.length > 0 ? `inputs ${inputs.join(", ")}` : ""]
          .filter(Boolean)
          .join("; ")
      ]
    })
    return rows.length === 0 ? "no servers are configured" : formatColumns(rows)
  })
}

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
  const reason = yield* notRunningReason(state)
  if (reason !== undefined) return yield* failCommand(`${message}, but does not run: ${reason}`)
  const offer = state === undefined ? "" : formatServerOffer(name, state, yield* computer.catalogue)
  return `${message}: ${offer}`
})

const addCommand: ReplCommand = {
  name: "server add",
  parameters: "NAME {JSON}",
  arity: [2, 2],
  help: "add a server, {command, args}, {url} or as in a configuration file, and start it",
  run: Effect.fnUntraced(function* ([name = "", text = ""]) {
    const computer = yield* Computer
    const { config, variables } = yield* computer.setup
    if (Object.hasOwn(config.servers, name)) {
      return yield* failCommand(`A server '${name}' is configured already: server remove ${name} first`)
    }
    const read = parseServerConfig(name, text)
    if (Result.isFailure(read)) return yield* failCommand(`Cannot add ${name}: ${read.failure}`)
    const { server, warnings } = read.success
    yield* computer.reconfigure({ config: { ...config, servers: { ...config.servers, [name]: server } }, variables })
    const note = warnings === "" ? "" : `\nnote: ${warnings}`
    if (server.disabled) return `added ${name}, which is disabled${note}`
    yield* Effect.mapError(computer.start(name), toCommandFailed)
    return `${yield* startOutcome(name, `added ${name}`)}${note}`
  })
}

const removeCommand: ReplCommand = {
  name: "server remove",
  parameters: "NAME",
  arity: [1, 1],
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
}

const serverActionCommand = (
  verb: "start" | "stop" | "restart",
  help: string,
  doneText: string,
  action: (computer: Computer["Service"], name: string) => Effect.Effect<void, UnknownServer>
): ReplCommand => ({
  name: `server ${verb}`,
  parameters: "NAME",
  arity: [1, 1],
  help,
  run: Effect.fnUntraced(function* ([name = ""]) {
    yield* requireServer(name)
    yield* Effect.mapError(
      Computer.use((computer) => action(computer, name)),
      toCommandFailed
    )
    return verb === "stop" ? `${doneText} ${name}` : yield* startOutcome(name, `${doneText} ${name}`)
  }),
  complete: completeFirst(serverNames)
})

export const serverCommands: ReadonlyArray<ReplCommand> = [
  serversCommand,
  addCommand,
  removeCommand,
  serverActionCommand("start", "start a server, even a disabled one", "started", ({ start }, name) => start(name)),
  serverActionCommand("stop", "stop a server until it is started again", "stopped", ({ stop }, name) => stop(name)),
  serverActionCommand("restart", "stop a server and start it again", "restarted", ({ restart }, name) => restart(name))
]
