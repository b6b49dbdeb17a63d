import { Equal, type Redacted } from "effect"
import { type ComputerConfig, encodeReportedConfig, type ServerConfig } from "./computerConfig.ts"
import { parsePlaceholder, findPlaceholders } from "./placeholders.ts"

/** Values for `${name}`, such as `userHome`, by server. Redacted ones never leave the Computer in replies or logs. */
export interface Variables {
  readonly [server: string]: { readonly [name: string]: string | Redacted.Redacted<string> }
}

/** The configuration of a Computer with the host's variables. */
export interface Setup {
  readonly config: ComputerConfig
  readonly variables: Variables
}

/** The differences of two setups, by server names. */
export interface SetupDiff {
  readonly added: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  /** Servers whose connection depends on a changed value. */
  readonly restarted: ReadonlyArray<string>
  /** Servers that keep running with changed tool settings. */
  readonly reconfigured: ReadonlyArray<string>
  readonly unchanged: ReadonlyArray<string>
  /** True when the reply to `client:get_config` changes. */
  readonly isReportedConfigChanged: boolean
}

const memberOf = <A>(members: { readonly [name: string]: A }, name: string): A | undefined =>
  Object.hasOwn(members, name) ? members[name] : undefined

export const findVariable = (variables: Variables, server: string, name: string) =>
  memberOf(memberOf(variables, server) ?? {}, name)

export const serverConfigOf = ({ config }: Setup, name: string): ServerConfig | undefined =>
  memberOf(config.servers, name)

export const inputIdsOf = ({ parameters }: ServerConfig): ReadonlyArray<string> =>
  findPlaceholders(parameters)
    .map(parsePlaceholder)
    .flatMap((reference) => (reference._tag === "Input" ? [reference.id] : []))

export const serversUsingInput = ({ servers }: ComputerConfig, id: string): ReadonlyArray<string> =>
  Object.values(servers)
    .filter((server) => inputIdsOf(server).includes(id))
    .map(({ name }) => name)

const sessionDependencies = (
  { disabled, lifecycle, name, parameters, type, vrl }: ServerConfig,
  { config, variables }: Setup
) => {
  const references = findPlaceholders(parameters).map((text) => {
    const reference = parsePlaceholder(text)
    if (reference._tag === "Input") return config.inputs.find(({ id }) => id === reference.id)
    return reference._tag === "Variable" ? findVariable(variables, name, reference.name) : reference
  })
  return { type, parameters, disabled, lifecycle, vrl, references }
}

export const diffSetups = (before: Setup, after: Setup): SetupDiff => {
  const changes = Map.groupBy(Object.values(after.config.servers), (server) => {
    const previous = serverConfigOf(before, server.name)
    if (previous === undefined) return "added"
    const isKept = Equal.equals(sessionDependencies(previous, before), sessionDependencies(server, after))
    return !isKept ? "restarted" : Equal.equals(previous, server) ? "unchanged" : "reconfigured"
  })
  const namesOf = (change: "added" | "restarted" | "reconfigured" | "unchanged") =>
    (changes.get(change) ?? []).map(({ name }) => name)
  return {
    added: namesOf("added"),
    removed: Object.keys(before.config.servers).filter((name) => serverConfigOf(after, name) === undefined),
    restarted: namesOf("restarted"),
    reconfigured: namesOf("reconfigured"),
    unchanged: namesOf("unchanged"),
    // As text: the order of servers decides which tool gets a name.
    isReportedConfigChanged:
      JSON.stringify(encodeReportedConfig(before.config)) !== JSON.stringify(encodeReportedConfig(after.config))
  }
}

/** Applies the change from `before` to `after` to `current`; servers and inputs added or removed at run time stay so. */
export const keepRuntimeChanges = (current: Setup, before: Setup, after: Setup): Setup => {
  const has = ({ config }: Setup, { name }: ServerConfig) => Object.hasOwn(config.servers, name)
  const kept = Object.values(after.config.servers).filter((server) => !has(before, server) || has(current, server))
  const added = Object.values(current.config.servers).filter((server) => !has(before, server) && !has(after, server))
  const idsOf = ({ config }: Setup) => new Set(config.inputs.map(({ id }) => id))
  const [here, first, last] = [idsOf(current), idsOf(before), idsOf(after)]
  return {
    config: {
      inputs: [
        ...after.config.inputs.filter(({ id }) => !first.has(id) || here.has(id)),
        ...current.config.inputs.filter(({ id }) => !first.has(id) && !last.has(id))
      ],
      servers: Object.fromEntries([...kept, ...added].map((server) => [server.name, server]))
    },
    variables: { ...current.variables, ...after.variables }
  }
}
