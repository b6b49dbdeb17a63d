import { Effect, Result } from "effect"
import { Computer } from "../../application/computer/Computer.ts"
import type { UnknownServer } from "../../application/computer/SessionPool.ts"
import { readConfig } from "../../domain/config/config.ts"
import { inputsOf } from "../../domain/config/setup.ts"
import { explainFaults, type Fault } from "../../domain/explain.ts"
import { columns } from "../commands/show.ts"
import { placeOf } from "../config/placeOf.ts"
import { failed, refuse } from "../failure.ts"
import { readJson } from "./readJson.ts"
import { knownServer, serverNames } from "./serverNames.ts"
import type { ShellCommand } from "./ShellCommand.ts"
import { stateOffer, stateWord, whyNot } from "./standing.ts"

const servers: ShellCommand = {
  name: "servers",
  takes: "",
  words: [0, 0],
  help: "the servers as they are configured",
  run: Effect.fnUntraced(function* () {
    const computer = yield* Computer
    const states = yield* computer.servers
    const { config } = yield* computer.setup
    const rows = Object.values(config.servers).map((server) => {
      const state = states.get(server.name)
      const inputs = inputsOf(server)
      return [
        server.name,
        state === undefined ? "" : stateWord(state),
        server.type,
        placeOf(server),
        [server.disabled ? "disabled" : "", inputs.length > 0 ? `inputs ${inputs.join(", ")}` : ""]
          .filter(Boolean)
          .join("; ")
      ]
    })
    return rows.length === 0 ? "no servers are configured" : columns(rows)
  })
}

/** What is wrong with one server, in paths that begin with the server itself. */
const explainServer = (faults: ReadonlyArray<Fault>): string =>
  explainFaults(faults.map(({ issue, path }) => ({ path: path.slice(2), issue })))

/** One server in any dialect: `{command, args}`, `{url}` or as A2C writes it. */
const readServer = (name: string, text: string) => {
  const value = Result.mapError(readJson(text), (why) => `the configuration is no JSON: ${why}`)
  return Result.flatMap(value, (server) => {
    const { config, envFiles, faults, warnings } = readConfig({ mcpServers: { [name]: server } })
    if (envFiles.size > 0) {
      return Result.fail("envFile: is not read here; put the server into a configuration file, or use env")
    }
    const read = config?.servers[name]
    return read === undefined
      ? Result.fail(explainServer(faults))
      : Result.succeed({ server: read, warnings: warnings.length === 0 ? "" : explainServer(warnings) })
  })
}

/** What a server that was to be started offers now; fails with the reason when it does not run. */
const outcome = Effect.fnUntraced(function* (name: string, done: string) {
  const computer = yield* Computer
  const state = (yield* computer.servers).get(name)
  const reason = yield* whyNot(state)
  if (reason !== undefined) return yield* refuse(`${done}, but does not run: ${reason}`)
  const offer = state === undefined ? "" : stateOffer(name, state, yield* computer.catalogue)
  return `${done}: ${offer}`
})

const add: ShellCommand = {
  name: "server add",
  takes: "NAME {JSON}",
  words: [2, 2],
  help: "add a server, {command, args} or {url} or as in a configuration file, and start it",
  run: Effect.fnUntraced(function* ([name = "", text = ""]) {
    const computer = yield* Computer
    const { config, variables } = yield* computer.setup
    if (Object.hasOwn(config.servers, name)) {
      return yield* refuse(`A server '${name}' is configured already: server remove ${name} first`)
    }
    const read = readServer(name, text)
    if (Result.isFailure(read)) return yield* refuse(`Cannot add ${name}: ${read.failure}`)
    const { server, warnings } = read.success
    yield* computer.reconfigure({
      config: { ...config, servers: { ...config.servers, [name]: server } },
      variables
    })
    const note = warnings === "" ? "" : `\nnote: ${warnings}`
    if (server.disabled) return `added ${name}, which is disabled${note}`
    yield* Effect.mapError(computer.start(name), failed)
    return `${yield* outcome(name, `added ${name}`)}${note}`
  })
}

const remove: ShellCommand = {
  name: "server remove",
  takes: "NAME",
  words: [1, 1],
  help: "stop a server and forget it, until the Computer starts anew",
  run: Effect.fnUntraced(function* ([name = ""]) {
    yield* knownServer(name)
    const computer = yield* Computer
    const { config, variables } = yield* computer.setup
    const { [name]: _, ...others } = config.servers
    yield* computer.reconfigure({ config: { ...config, servers: others }, variables })
    return `removed ${name}`
  }),
  complete: (words) => (words.length === 0 ? serverNames : Effect.succeed([]))
}

/** A command that does something to one server that is configured. */
const on = (
  verb: "start" | "stop" | "restart",
  help: string,
  done: string,
  act: (computer: Computer["Service"], name: string) => Effect.Effect<void, UnknownServer>
): ShellCommand => ({
  name: `server ${verb}`,
  takes: "NAME",
  words: [1, 1],
  help,
  run: Effect.fnUntraced(function* ([name = ""]) {
    yield* knownServer(name)
    yield* Effect.mapError(
      Computer.use((computer) => act(computer, name)),
      failed
    )
    return verb === "stop" ? `${done} ${name}` : yield* outcome(name, `${done} ${name}`)
  }),
  complete: (words) => (words.length === 0 ? serverNames : Effect.succeed([]))
})

/** What can be done with the MCP servers. */
export const serverCommands: ReadonlyArray<ShellCommand> = [
  servers,
  add,
  remove,
  on("start", "start a server, even a disabled one", "started", ({ start }, name) => start(name)),
  on("stop", "stop a server until it is started again", "stopped", ({ stop }, name) => stop(name)),
  on("restart", "stop a server and start it again", "restarted", ({ restart }, name) => restart(name))
]
