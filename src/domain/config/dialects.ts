import type { ValidationIssue } from "../validation.ts"
import { checkJsonBody, isJsonObject, type JsonObject } from "../json.ts"
import { parameterNames, type ServerType } from "./endpointParameters.ts"

/** The ways in which people write down their MCP servers: ours, an editor's `mcp.json`, and that of other hosts. */
export type Dialect = "A2C" | "VS Code" | "mcpServers"

/** A configuration in A2C's own words, and what it takes to speak of it in the words it was written in. */
export interface TranslatedConfig {
  /** Missing when it is written in none of them. */
  readonly dialect: Dialect | undefined
  /** What A2C's schema is to read. */
  readonly value: unknown
  readonly errors: ReadonlyArray<ValidationIssue>
  /** What was left out or means something else here. */
  readonly warnings: ReadonlyArray<ValidationIssue>
  /** The files from which servers take more variables, by name of the server. */
  readonly envFiles: ReadonlyMap<string, string>
  /** Where in the original a place in `value` is. */
  readonly toOriginalPath: (path: ReadonlyArray<PropertyKey>) => ReadonlyArray<PropertyKey>
}

type Path = ReadonlyArray<PropertyKey>

/** Settings of a server that every dialect may hold beside its own. */
const serverFields = [
  "name",
  "type",
  "disabled",
  "forbidden_tools",
  "tool_meta",
  "default_tool_meta",
  "vrl"
] as const

const toolMetaFields = ["auto_apply", "ret_object_mapper", "alias", "tags"]

const inputFieldsByType: { readonly [type: string]: ReadonlyArray<string> } = {
  promptString: ["type", "id", "description", "default", "password"],
  pickString: ["type", "id", "description", "default", "options"],
  command: ["type", "id", "description", "command", "args"]
}

/** Variables that hosts define; in the `mcpServers` dialect every other `${NAME}` is one of the environment. */
const hostVariables = ["userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator", "/"]

const unknownFieldMessage = "unknown field, left out"

/** Warns of every member that is not among the known ones. */
const unknownFieldWarnings = (
  value: unknown,
  path: Path,
  known: ReadonlyArray<string>,
  issue = unknownFieldMessage
) =>
  isJsonObject(value)
    ? Object.keys(value)
        .filter((key) => !known.includes(key))
        .map((key) => ({ path: [...path, key], issue }))
    : []

const toolMetaFieldWarnings = (meta: unknown, path: Path) =>
  unknownFieldWarnings(
    meta,
    path,
    toolMetaFields,
    "not a setting that means something here, passed on as it is"
  )

const serverToolMetaWarnings = (server: JsonObject, path: Path): ReadonlyArray<ValidationIssue> => {
  const { default_tool_meta: fallback, tool_meta: tools } = server
  return [
    ...toolMetaFieldWarnings(fallback, [...path, "default_tool_meta"]),
    ...(isJsonObject(tools)
      ? Object.entries(tools).flatMap(([tool, meta]) =>
          toolMetaFieldWarnings(meta, [...path, "tool_meta", tool])
        )
      : [])
  ]
}

/** The fields of an input of this type. A file may hold any name there, those of JavaScript among them. */
const inputFieldsOf = (type: unknown): ReadonlyArray<string> | undefined =>
  typeof type === "string" && Object.hasOwn(inputFieldsByType, type) ? inputFieldsByType[type] : undefined

const inputFieldWarnings = (inputs: unknown): ReadonlyArray<ValidationIssue> =>
  Array.isArray(inputs)
    ? inputs.flatMap((input: unknown, index) => {
        const fields = isJsonObject(input) ? inputFieldsOf(input["type"]) : undefined
        return fields === undefined ? [] : unknownFieldWarnings(input, ["inputs", index], fields)
      })
    : []

/** Do the parameters of a server stand beside its settings? In `mcpServers` they do wherever they are missing, too. */
const isFlatServer = (server: unknown, root: string): server is JsonObject =>
  isJsonObject(server) &&
  !("server_parameters" in server) &&
  (root === "mcpServers" || "command" in server || "url" in server)

const streamableTypeNames = ["http", "streamable", "streamable-http", "streamableHttp"]

/** The type of a flat entry, which need not state it; an address ending in `/sse` is one of the older servers. */
const inferServerType = ({ type, url }: JsonObject): unknown => {
  if (typeof type === "string") return streamableTypeNames.includes(type) ? "streamable" : type
  if (url === undefined) return "stdio"
  return typeof url === "string" && /\/sse\/?$/.test(url) ? "sse" : "streamable"
}

const isServerType = (type: unknown): type is ServerType =>
  type === "stdio" || type === "streamable" || type === "sse"

/** `${NAME}` and `${NAME:-fallback}` as shells write them, in A2C's words. */
const convertShellVariables = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.replaceAll(/\$\{([A-Za-z_]\w*)(:-[^}]*)?\}/g, (literal, name: string, fallback = "") =>
      hostVariables.includes(name) ? literal : `\${env:${name}${fallback}}`
    )
  }
  if (Array.isArray(value)) return value.map(convertShellVariables)
  if (!isJsonObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, convertShellVariables(member)])
  )
}

const pickKeys = (value: JsonObject, keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([key]) => keys.includes(key)))

/** A server whose parameters stand beside its settings. */
const unflattenServer = (entry: JsonObject, path: Path, dialect: Dialect) => {
  const type = inferServerType(entry)
  const isNumeric = typeof entry["timeout"] === "number"
  const parameters = isServerType(type)
    ? parameterNames(type).filter((name) => name !== "timeout" || !isNumeric)
    : []
  const { env } = entry
  const given = pickKeys(entry, parameters)
  const parametersWithoutNulls = isJsonObject(env)
    ? { ...given, env: Object.fromEntries(Object.entries(env).filter(([, value]) => value !== null)) }
    : given
  return {
    value: {
      ...pickKeys(entry, serverFields),
      type,
      server_parameters:
        dialect === "mcpServers" ? convertShellVariables(parametersWithoutNulls) : parametersWithoutNulls
    },
    warnings: unknownFieldWarnings(entry, path, [...serverFields, ...parameters, "envFile"])
  }
}

/** An editor's input: options may be labelled, and its commands are the editor's own, which nobody else can run. */
const fromVsCodeInput = (input: unknown): unknown => {
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

const vsCodeInputWarnings = (inputs: unknown): ReadonlyArray<ValidationIssue> =>
  Array.isArray(inputs)
    ? inputs.flatMap((input: unknown, index) =>
        isJsonObject(input) && input["type"] === "command"
          ? [{ path: ["inputs", index], issue: "a command of the editor cannot run here: give its value" }]
          : []
      )
    : []

const failTranslation = (value: unknown, issue: string): TranslatedConfig => ({
  dialect: undefined,
  value,
  errors: [{ path: [], issue }],
  warnings: [],
  envFiles: new Map(),
  toOriginalPath: (path) => path
})

const translateServer = (root: string, dialect: Dialect, name: string, server: unknown) => {
  const path = [root, name]
  const named = isJsonObject(server) ? { name, ...server } : server
  if (isFlatServer(named, root)) {
    const { value, warnings } = unflattenServer(named, path, dialect)
    return { value, warnings: [...warnings, ...serverToolMetaWarnings(named, path)] }
  }
  if (!isJsonObject(named)) return { value: named, warnings: [] }
  const { server_parameters: parameters, type } = named
  const wireType = type === "http" ? "streamable" : type
  return {
    value: named,
    warnings: [
      ...unknownFieldWarnings(named, path, [...serverFields, "server_parameters", "envFile"]),
      ...(isServerType(wireType)
        ? unknownFieldWarnings(parameters, [...path, "server_parameters"], parameterNames(wireType))
        : []),
      ...serverToolMetaWarnings(named, path)
    ]
  }
}

/**
 * Puts a configuration into A2C's words, whichever of the dialects it is written in: `{inputs, servers}` as A2C or as
 * VS Code has it, or `{mcpServers}` as Claude and Cursor do. Nothing is left out without a warning.
 */
export const translateConfig = (value: unknown): TranslatedConfig => {
  if (!isJsonObject(value)) return failTranslation(value, "expected an object")
  // What no message may hold, no office could be told.
  const issue = checkJsonBody(value)
  if (issue !== undefined) return failTranslation(value, issue)
  const root = "mcpServers" in value ? "mcpServers" : "servers"
  if (root === "mcpServers" && "servers" in value) {
    return failTranslation(value, "holds both servers and mcpServers: keep one of them")
  }
  const { inputs, [root]: servers } = value
  if (servers === undefined) return failTranslation(value, "neither servers nor mcpServers are here")
  if (!isJsonObject(servers)) return failTranslation(value, `${root}: expected an object`)
  const entries = Object.entries(servers)
  const flat = new Set(entries.filter(([, server]) => isFlatServer(server, root)).map(([name]) => name))
  const dialect = root === "mcpServers" ? root : flat.size > 0 ? "VS Code" : "A2C"
  const translated = entries.map(
    ([name, server]) => [name, translateServer(root, dialect, name, server)] as const
  )
  const isVsCode = dialect === "VS Code"
  return {
    dialect,
    value: {
      ...("inputs" in value && {
        inputs: isVsCode && Array.isArray(inputs) ? inputs.map(fromVsCodeInput) : inputs
      }),
      servers: Object.fromEntries(translated.map(([name, server]) => [name, server.value]))
    },
    errors: [],
    warnings: [
      ...unknownFieldWarnings(value, [], ["$schema", "inputs", root]),
      ...inputFieldWarnings(inputs),
      ...(isVsCode ? vsCodeInputWarnings(inputs) : []),
      ...translated.flatMap(([, server]) => server.warnings)
    ],
    envFiles: new Map(
      entries.flatMap(([name, server]) =>
        isJsonObject(server) && typeof server["envFile"] === "string" ? [[name, server["envFile"]]] : []
      )
    ),
    toOriginalPath: ([first, name, third, ...rest]) => {
      const tail = third === undefined ? [] : [third, ...rest]
      if (first !== "servers") return [first, name, ...tail].filter((key) => key !== undefined)
      if (name === undefined) return [root]
      const isUnfolded = third === "server_parameters" && flat.has(String(name))
      return [root, name, ...(isUnfolded ? rest : tail)]
    }
  }
}
