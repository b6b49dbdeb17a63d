import { asObject, asString, checkJsonBody, isJsonObject, type JsonObject, stringOrEmpty } from "../json.ts"
import { toolMetaKeys } from "./toolMeta.ts"
import { type ValidationIssue, formatIssues, toValidationIssues } from "../validation.ts"
import { Input, serverFieldNames, ComputerConfig } from "./computerConfig.ts"
import { parameterNames } from "./endpointParameters.ts"
import {
  decodeParameters,
  decodeSwitches,
  hasFlatParameters,
  inferServerType,
  isServerType,
  namedServerType,
  originalField,
  originalParameterPath,
  transportFields
} from "./hostFields.ts"
import { Record, Result, Schema } from "effect"

/** Formats of configuration files: A2C's own, an editor's `mcp.json`, and `{mcpServers}` of other hosts. */
export type Dialect = "A2C" | "VS Code" | "mcpServers"

export const serversKeyOf = (dialect: Dialect | undefined): "servers" | "mcpServers" =>
  dialect === "mcpServers" ? dialect : "servers"

type Path = ReadonlyArray<PropertyKey>

const serverFields = serverFieldNames.filter((name) => name !== "server_parameters")

const inputFieldsByType: ReadonlyMap<unknown, ReadonlyArray<string>> = new Map(
  Input.members.map(({ fields }) => [fields.type.literal, Object.keys(fields)])
)

/** Variables that hosts define. In the `mcpServers` dialect every other `${NAME}` is an environment variable. */
const hostVariables = ["userHome", "workspaceFolder", "workspaceFolderBasename", "pathSeparator", "/"]

const unknownFieldWarnings = (
  value: unknown,
  path: Path,
  known: ReadonlyArray<string>,
  issue = "unknown field, ignored"
): ReadonlyArray<ValidationIssue> => {
  const unknown = Object.keys(asObject(value)).filter((key) => !known.includes(key))
  return unknown.map((key) => ({ path: [...path, key], issue }))
}

const toolMetaWarnings = ({ default_tool_meta: fallback, tool_meta: tools }: JsonObject, path: Path) => {
  const warningsAt = (meta: unknown, ...at: Path) =>
    unknownFieldWarnings(meta, [...path, ...at], toolMetaKeys, "unknown tool setting, passed on unchanged")
  const ofTools = Object.entries(asObject(tools)).flatMap(([tool, meta]) => warningsAt(meta, "tool_meta", tool))
  return [...warningsAt(fallback, "default_tool_meta"), ...ofTools]
}

const inputWarnings = (inputs: ReadonlyArray<unknown>, isVsCode: boolean): ReadonlyArray<ValidationIssue> =>
  inputs.flatMap((input, index) => {
    const path = ["inputs", index]
    const { type } = asObject(input)
    const fields = inputFieldsByType.get(type)
    const unknown = fields === undefined ? [] : unknownFieldWarnings(input, path, fields)
    const isForeign = isVsCode && type === "command"
    return isForeign ? [...unknown, { path, issue: "VS Code commands cannot run here: provide the value" }] : unknown
  })

/** Tells whether the parameters of a server are beside its settings, not below `server_parameters`. */
const isFlatServer = (server: unknown, root: string): boolean =>
  isJsonObject(server) && !("server_parameters" in server) && (root === "mcpServers" || hasFlatParameters(server))

/** Converts `${NAME}` and `${NAME:-fallback}` of shells to A2C's placeholders. */
const convertShellVariables = (value: unknown): unknown => {
  if (typeof value === "string") {
    return value.replaceAll(/\$\{([A-Za-z_]\w*)(:-[^}]*)?\}/g, (literal, name: string, fallback = "") =>
      hostVariables.includes(name) ? literal : `\${env:${name}${fallback}}`
    )
  }
  if (Array.isArray(value)) return value.map(convertShellVariables)
  if (!isJsonObject(value)) return value
  return Record.map(value, convertShellVariables)
}

const pickKeys = (value: JsonObject, keys: ReadonlyArray<string>) =>
  Record.filter(value, (_, key) => keys.includes(key))

const unflattenServer = (flat: JsonObject, path: Path, dialect: Dialect) => {
  const entry = decodeParameters(flat)
  const type = inferServerType(entry)
  const isNumeric = typeof entry["timeout"] === "number"
  const parameters = isServerType(type) ? parameterNames(type).filter((name) => name !== "timeout" || !isNumeric) : []
  const { env } = entry
  const stated = isJsonObject(env) && { env: Record.filter(env, (value) => value !== null) }
  const given = { ...pickKeys(entry, parameters), ...stated }
  return {
    value: {
      ...pickKeys(entry, serverFields),
      type,
      server_parameters: dialect === "mcpServers" ? convertShellVariables(given) : given
    },
    warnings: unknownFieldWarnings(entry, path, [...serverFields, ...transportFields, ...parameters, "envFile"])
  }
}

/** Converts an input of VS Code: commands exist only in the editor. */
const fromVsCodeInput = (input: unknown): unknown => {
  const { command, id, type } = asObject(input)
  if (type !== "command") return input
  return { type: "promptString", id, description: `The result of the editor's command ${stringOrEmpty(command)}` }
}

const translateServer = (root: string, dialect: Dialect, name: string, server: unknown) => {
  const path = [root, name]
  if (!isJsonObject(server)) return { value: server, warnings: [] }
  const named = decodeSwitches({ name, ...server })
  if (isFlatServer(named, root)) {
    const { value, warnings } = unflattenServer(named, path, dialect)
    return { value, warnings: [...warnings, ...toolMetaWarnings(named, path)] }
  }
  const { server_parameters: parameters } = named
  const type = namedServerType(named)
  return {
    value: type === undefined ? named : { ...named, type },
    warnings: [
      ...unknownFieldWarnings(named, path, [...serverFieldNames, ...transportFields, "envFile"]),
      ...(isServerType(type)
        ? unknownFieldWarnings(parameters, [...path, "server_parameters"], parameterNames(type))
        : []),
      ...toolMetaWarnings(named, path)
    ]
  }
}

/**
 * Translates a configuration of any dialect to A2C's format: `{inputs, servers}` of A2C or VS Code, or `{mcpServers}` of
 * Claude and Cursor. Every ignored field gives a warning.
 */
const translateConfig = (value: unknown) => {
  if (!isJsonObject(value)) return Result.fail("expected an object")
  // `client:get_config` must be able to carry the configuration.
  const issue = checkJsonBody(value)
  if (issue !== undefined) return Result.fail(issue)
  const root = "mcpServers" in value ? "mcpServers" : "servers"
  if (root === "mcpServers" && "servers" in value) return Result.fail("servers and mcpServers are mutually exclusive")
  const { inputs, [root]: servers } = value
  if (servers === undefined) return Result.fail("servers or mcpServers is required")
  if (!isJsonObject(servers)) return Result.fail(`${root}: expected an object`)
  const entries = Object.entries(servers)
  const flat = new Set(entries.filter(([, server]) => isFlatServer(server, root)).map(([name]) => name))
  const dialect: Dialect = root === "mcpServers" ? root : flat.size > 0 ? "VS Code" : "A2C"
  const translated = entries.map(([name, server]) => [name, translateServer(root, dialect, name, server)] as const)
  const isVsCode = dialect === "VS Code"
  return Result.succeed({
    dialect,
    value: {
      ...("inputs" in value && { inputs: isVsCode && Array.isArray(inputs) ? inputs.map(fromVsCodeInput) : inputs }),
      servers: Object.fromEntries(translated.map(([name, server]) => [name, server.value]))
    },
    warnings: [
      ...unknownFieldWarnings(value, [], ["$schema", "inputs", root]),
      ...inputWarnings(Array.isArray(inputs) ? inputs : [], isVsCode),
      ...translated.flatMap(([, server]) => server.warnings)
    ],
    envFiles: new Map(
      entries.flatMap(([name, server]) => {
        const envFile = asString(asObject(server)["envFile"])
        return envFile === undefined ? [] : [[name, envFile]]
      })
    ),
    toOriginalPath: ([first, name, third, ...rest]: Path): Path => {
      const tail = third === undefined ? [] : [originalField(servers[String(name)], third), ...rest]
      if (first !== "servers") return [first, name, ...tail].filter((key) => key !== undefined)
      if (name === undefined) return [root]
      const isUnfolded = third === "server_parameters" && flat.has(String(name))
      return [root, name, ...(isUnfolded ? originalParameterPath(servers[String(name)], rest) : tail)]
    }
  })
}

/** A parsed configuration. Paths refer to the original text. */
export interface ParsedConfig {
  /** `undefined` when the format is unknown. */
  readonly dialect: Dialect | undefined
  /** `undefined` exactly when there are errors. */
  readonly config: ComputerConfig | undefined
  readonly errors: ReadonlyArray<ValidationIssue>
  /** Ignored fields, and fields with another meaning here. */
  readonly warnings: ReadonlyArray<ValidationIssue>
  /** The environment files of servers, by server name. */
  readonly envFiles: ReadonlyMap<string, string>
}

const decodeComputerConfig = Schema.decodeUnknownResult(ComputerConfig, { errors: "all" })

/** Parses a Computer's configuration in any dialect, and collects all errors. */
export const parseConfig = (source: unknown): ParsedConfig => {
  const translated = translateConfig(source)
  if (Result.isFailure(translated)) {
    const errors = [{ path: [], issue: translated.failure }]
    return { dialect: undefined, config: undefined, errors, warnings: [], envFiles: new Map() }
  }
  const { toOriginalPath, value, ...parsed } = translated.success
  const decoded = decodeComputerConfig(value)
  if (Result.isSuccess(decoded)) return { ...parsed, config: decoded.success, errors: [] }
  const toOriginal = ({ issue, path }: ValidationIssue) => ({ path: toOriginalPath(path), issue })
  return { ...parsed, config: undefined, errors: toValidationIssues(decoded.failure).map(toOriginal) }
}

/** Like {@link parseConfig}; fails with all errors in one line. The `name` of a server defaults to its key. */
export const parseComputerConfig = (value: unknown): Result.Result<ComputerConfig, string> => {
  const { config, errors } = parseConfig(value)
  return config === undefined ? Result.fail(formatIssues(errors)) : Result.succeed(config)
}

/** A configuration and its file. */
export interface ConfigSource {
  readonly file: string
  readonly config: ComputerConfig
}

/** A server or input that two files define. */
export interface ConfigConflict {
  readonly kind: "server" | "input"
  readonly name: string
  readonly files: readonly [string, string]
}

/** Merges the configurations of several files in their order, and reports duplicates as conflicts. */
export const mergeConfigs = (
  sources: ReadonlyArray<ConfigSource>
): { readonly config: ComputerConfig; readonly conflicts: ReadonlyArray<ConfigConflict> } => {
  const claims = sources.flatMap(({ config, file }) => [
    ...Object.keys(config.servers).map((name) => ({ kind: "server", name, file }) as const),
    ...config.inputs.map(({ id }) => ({ kind: "input", name: id, file }) as const)
  ])
  return {
    config: {
      inputs: sources.flatMap(({ config }) => config.inputs),
      servers: Object.assign({}, ...sources.map(({ config }) => config.servers))
    },
    conflicts: claims.flatMap(({ file, kind, name }, index) => {
      const first = claims.findIndex((claim) => claim.kind === kind && claim.name === name)
      const owner = claims[first]
      return first === index || owner === undefined ? [] : [{ kind, name, files: [owner.file, file] }]
    })
  }
}
