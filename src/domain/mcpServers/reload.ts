import type { ServerConfig } from "../config/computerConfig.ts"
import { diffSetups, serverConfigOf, type Setup } from "../config/Setup.ts"
import type { Naming } from "../tools/naming.ts"
import {
  initialServer,
  type McpOffer,
  type McpServer,
  type McpServerCommand,
  type McpServerEvent,
  transition
} from "./McpServer.ts"

/** The MCP servers of a Computer by their names, in configuration order. */
export type McpServers<O extends McpOffer> = ReadonlyMap<string, McpServer<O>>

/** What to do for servers, by their names. */
export type McpServerCommands = ReadonlyMap<string, ReadonlyArray<McpServerCommand>>

/** Finds the earlier server of the configuration that has the same identity in the office: only that one runs. */
export const findIdentityConflict = (setup: Setup, { serverId }: Naming, name: string): ServerConfig | undefined => {
  const server = serverConfigOf(setup, name)
  const first = server && Object.values(setup.config.servers).find((other) => serverId(other) === serverId(server))
  return first?.name === name ? undefined : first
}

/** What decides which servers have the same identity. */
export interface Arrangement {
  readonly setup: Setup
  readonly naming: Naming
}

/** The launched servers whose conflict with another one appeared or went between two setups and namings. */
export const changedConflicts = <O extends McpOffer>(
  servers: McpServers<O>,
  ...arrangements: readonly [before: Arrangement, after: Arrangement]
): ReadonlyArray<string> =>
  [...servers].flatMap(([name, { _tag, run }]) => {
    const [before, after] = arrangements.map(({ naming, setup }) => !findIdentityConflict(setup, naming, name))
    return run > 0 && _tag !== "Stopped" && before !== after ? [name] : []
  })

/** Applies an event to one server; an unknown one has none. */
export const transitionOf = <O extends McpOffer>(
  servers: McpServers<O>,
  name: string,
  event: McpServerEvent<O>
): readonly [ReadonlyArray<McpServerCommand>, McpServers<O>] => {
  const server = servers.get(name)
  if (server === undefined) return [[], servers]
  const [next, commands] = transition(server, event)
  return [commands, next === server ? servers : new Map(servers).set(name, next)]
}

/** Applies another setup to all servers: starts, restarts, keeps and stops them. `run` numbers the runs that begin. */
export const reload = <O extends McpOffer>(servers: McpServers<O>, before: Setup, after: Setup, run: number) => {
  const diff = diffSetups(before, after)
  const commands = new Map<string, ReadonlyArray<McpServerCommand>>()
  const next = Object.values(after.config.servers).map((config): readonly [string, McpServer<O>] => {
    const { disabled, name } = config
    const server = servers.get(name) ?? initialServer(run, disabled)
    if (diff.unchanged.includes(name)) return [name, server]
    const isKept = diff.reconfigured.includes(name)
    const event = isKept ? ({ _tag: "Reconfigure", config } as const) : ({ _tag: "Reload", run, disabled } as const)
    const [changed, wanted] = transition<O>(server, event)
    commands.set(name, wanted)
    return [name, changed]
  })
  for (const name of diff.removed) commands.set(name, [{ _tag: "Close" }])
  return { servers: new Map(next), commands, diff }
}
