import type { Fault } from "../explain.ts"
import { bodyFault, isJsonObject, type JsonObject } from "../json.ts"
import { parameterNames, type ServerType } from "../protocol/v0_2/parameters.ts"

/** The ways in which people write down their MCP servers: ours, an editor's `mcp.json`, and that of other hosts. */
export type Dialect = "A2C" | "VS Code" | "mcpServers"

/** A configuration in A2C's own words, and what it takes to speak of it in the words it was written in. */
export interface Translation {
  /** Missing when it is written in none of them. */
  readonly dialect: Dialect | undefined
  /** What A2C's schema is to read. */
  readonly value: unknown
  readonly faults: ReadonlyArray<Fault>
  /** What was left out or means something else here. */
  readonly warnings: ReadonlyArray<Fault>
  /** The files from which servers take more variables, by name of the server. */
  readonly envFiles: ReadonlyMap<string, string>
  /** Where in the original a place in `value` is. */
  readonly origin: (path: ReadonlyArray<PropertyKey>) => ReadonlyArray<PropertyKey>
}

type Path = ReadonlyArray<PropertyKey>

/** Settings of a server that every dialect may hold beside its own. */
const settings = [
  "name",
  "type",
  "disabled",
  "forbidden_tools",
  "tool_meta",
  "default_tool_meta",
  "vrl"
] as const

const toolSettings = ["auto_apply", "ret_object_mapper", "alias", "tags"]

const inputFields: { readonly [type: string]: ReadonlyArray<string> } = {
  promptString: ["type", "id", "description", "default", "password"],
  pickString: ["type", "id", "description", "default", "options"],
  command: ["type", "id", "description", "command", "args"]
}

/** Variables that hosts define; in the `mcpServers` dialect every other `${NAME}` is one of the environment. */
const hostVariables = ["userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator", "/"]

const unknownField = "unknown field, left out"

/** Warns of every member that is not among the known ones. */
const strangers = (value: unknown, path: Path, known: ReadonlyArray<string>, issue = unknownField) =>
  isJsonObject(value)
    ? Object.keys(value)
        .filter((key) => !known.includes(key))
        .map((key) => ({ path: [...path, key], issue }))
    : []

const strangersInMeta = (meta: unknown, path: Path) =>
  strangers(meta, path, toolSettings, "not a setting that means something here, passed on as it is")

const toolMetaWarnings = (server: JsonObject, path: Path): ReadonlyArray<Fault> => {
  const { default_tool_meta: fallback, tool_meta: tools } = server
  return [
    ...strangersInMeta(fallback, [...path, "default_tool_meta"]),
    ...(isJsonObject(tools)
      ? Object.entries(tools).flatMap(([tool, meta]) => strangersInMeta(meta, [...path, "tool_meta", tool]))
      : [])
  ]
}

/** The fields of an input of this type. A file may hold any name there, those of JavaScript among them. */
const fieldsOf = (type: unknown): ReadonlyArray<string> | undefined =>
  typeof type === "string" && Object.hasOwn(inputFields, type) ? inputFields[type] : undefined

const inputWarnings = (inputs: unknown): ReadonlyArray<Fault> =>
  Array.isArray(inputs)
    ? inputs.flatMap((input: unknown, index) => {
        const fields = isJsonObject(input) ? fieldsOf(input["type"]) : undefined
        return fields === undefined ? [] : strangers(input, ["inputs", index], fields)
      })
    : []

/** Do the parameters of a server stand beside its settings? In `mcpServers` they do wherever they are missing, too. */
const isFlat = (server: unknown, root: string): server is JsonObject =>
  isJsonObject(server) &&
  !("server_parameters" in server) &&
  (root === "mcpServers" || "command" in server || "url" in server)

const httpNames = ["http", "streamable", "streamable-http", "streamableHttp"]

/** The type of a flat entry, which need not state it; an address ending in `/sse` is one of the older servers. */
const flatType = ({ type, url }: JsonObject): unknown => {
  if (typeof type === "string") return httpNames.includes(type) ? "streamable" : type
  if (url === undefined) return "stdio"
  return typeof url === "string" && /\/sse\/?$/.test(url) ? "sse" : "streamable"
}

const isServerType = (type: unknown): type is ServerType =>
  type === "stdio" || type === "streamable" || type === "sse"

/** `${NAME}` and `${NAME:-fallback}` as shells write them, in A2C's words. */
const fromShell = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.replaceAll(/\$\{([A-Za-z_]\w*)(:-[^}]*)?\}/g, (literal, name: string, fallback = "") =>
      hostVariables.includes(name) ? literal : `\${env:${name}${fallback}}`
    )
  }
  if (Array.isArray(value)) return value.map(fromShell)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, fromShell(member)]))
}

const only = (value: JsonObject, keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key)))

/** A server whose parameters stand beside its settings. */
const unfold = (entry: JsonObject, path: Path, dialect: Dialect) => {
  const type = flatType(entry)
  const isNumeric = typeof entry["timeout"] === "number"
  const parameters = isServerType(type)
    ? parameterNames(type).filter((name) => name !== "timeout" || !isNumeric)
    : []
  const { env } = entry
  const given = only(entry, parameters)
  const usable = isJsonObject(env)
    ? { ...given, env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null)) }
    : given
  return {
    value: {
      ...only(entry, settings),
      type,
      server_parameters: dialect === "mcpServers" ? fromShell(usable) : usable
    },
    warnings: strangers(entry, path, [...settings, ...parameters, "envFile"])
  }
}

/** An editor's input: options may be labelled, and its commands are the editor's own, which nobody else can run. */
const fromEditor = (input: unknown): unknown => {
  if (!isJsonObject(input)) return input
  const { command, id, options, type } = input
  if (type === "command") {
    return {
      type: "promptString",
      id,
      description: `What the editor's command ${typeof command === "string" ? command : ""} would give`
    }
  }
  if (!Array.isArray(options)) return input
  return {
    ...input,
    options: options.map((option: unknown) => (isJsonObject(option) ? option["value"] : option))
  }
}

const editorWarnings = (inputs: unknown): ReadonlyArray<Fault> =>
  Array.isArray(inputs)
    ? inputs.flatMap((input: unknown, index) =>
        isJsonObject(input) && input["type"] === "command"
          ? [{ path: ["inputs", index], issue: "a command of the editor cannot run here: give its value" }]
          : []
      )
    : []

const refuse = (value: unknown, issue: string): Translation => ({
  dialect: undefined,
  value,
  faults: [{ path: [], issue }],
  warnings: [],
  envFiles: new Map(),
  origin: (path) => path
})

const translateServer = (root: string, dialect: Dialect, name: string, server: unknown) => {
  const path = [root, name]
  const named = isJsonObject(server) ? { name, ...server } : server
  if (isFlat(named, root)) {
    const { value, warnings } = unfold(named, path, dialect)
    return { value, warnings: [...warnings, ...toolMetaWarnings(named, path)] }
  }
  if (!isJsonObject(named)) return { value: named, warnings: [] }
  const { server_parameters: parameters, type } = named
  const wireType = type === "http" ? "streamable" : type
  return {
    value: named,
    warnings: [
      ...strangers(named, path, [...settings, "server_parameters", "envFile"]),
      ...(isServerType(wireType)
        ? strangers(parameters, [...path, "server_parameters"], parameterNames(wireType))
        : []),
      ...toolMetaWarnings(named, path)
    ]
  }
}

/**
 * Puts a configuration into A2C's words, whichever of the dialects it is written in: `{inputs, servers}` as A2C or as
 * VS Code has it, or `{mcpServers}` as Claude and Cursor do. Nothing is left out without a warning.
 */
export const translate = (value: unknown): Translation => {
  if (!isJsonObject(value)) return refuse(value, "expected an object")
  // What no message may hold, no office could be told.
  const fault = bodyFault(value)
  if (fault !== undefined) return refuse(value, fault)
  const root = "mcpServers" in value ? "mcpServers" : "servers"
  if (root === "mcpServers" && "servers" in value) {
    return refuse(value, "holds both servers and mcpServers: keep one of them")
  }
  const { inputs, [root]: servers } = value
  if (servers === undefined) return refuse(value, "neither servers nor mcpServers are here")
  if (!isJsonObject(servers)) return refuse(value, `${root}: expected an object`)
  const entries = Object.entries(servers)
  const flat = new Set(entries.filter(([, server]) => isFlat(server, root)).map(([name]) => name))
  const dialect = root === "mcpServers" ? root : flat.size > 0 ? "VS Code" : "A2C"
  const translated = entries.map(
    ([name, server]) => [name, translateServer(root, dialect, name, server)] as const
  )
  const forEditor = dialect === "VS Code"
  return {
    dialect,
    value: {
      ...("inputs" in value && {
        inputs: forEditor && Array.isArray(inputs) ? inputs.map(fromEditor) : inputs
      }),
      servers: Object.fromEntries(translated.map(([name, server]) => [name, server.value]))
    },
    faults: [],
    warnings: [
      ...strangers(value, [], ["$schema", "inputs", root]),
      ...inputWarnings(inputs),
      ...(forEditor ? editorWarnings(inputs) : []),
      ...translated.flatMap(([, server]) => server.warnings)
    ],
    envFiles: new Map(
      entries.flatMap(([name, server]) =>
        isJsonObject(server) && typeof server["envFile"] === "string" ? [[name, server["envFile"]]] : []
      )
    ),
    origin: ([first, name, third, ...rest]) => {
      const tail = third === undefined ? [] : [third, ...rest]
      if (first !== "servers") return [first, name, ...tail].filter((key) => key !== undefined)
      if (name === undefined) return [root]
      const isUnfolded = third === "server_parameters" && flat.has(String(name))
      return [root, name, ...(isUnfolded ? rest : tail)]
    }
  }
}
