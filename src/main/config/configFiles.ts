import { basename, dirname, resolve, sep } from "node:path"
import { parseEnv } from "node:util"
import { Effect, Redacted, Result } from "effect"
import { homeFolder, noHomeAdvice } from "../../adapters/process/userFolders.ts"
import { mergeConfigs, parseConfig, type Dialect, serversKeyOf } from "../../domain/config/parseConfig.ts"
import { renderPlaceholders } from "../../domain/config/placeholders.ts"
import type { Setup, Variables } from "../../domain/config/Setup.ts"
import type { ValidationIssue } from "../../domain/validation.ts"
import { asObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { ComputerConfig, ServerConfig } from "../../domain/config/computerConfig.ts"
import { didYouMean } from "./didYouMean.ts"
import { type ConfigDiagnostic, jsonc, readDocument, readTextFile } from "./documents.ts"
import type { Position } from "./jsonc.ts"

export interface ConfigFile {
  readonly file: string
  readonly dialect: Dialect | undefined
  readonly config: ComputerConfig | undefined
  readonly variables: Variables
  readonly diagnostics: ReadonlyArray<ConfigDiagnostic>
  /** The absolute paths of the file and its environment files. */
  readonly sources: ReadonlyArray<string>
  /** The position of a value, or of its innermost existing parent. */
  readonly locate: (path: ReadonlyArray<PropertyKey>) => Position
}

/** Folders of editor configurations inside the workspace folder. */
const editorFolders = [".vscode", ".cursor"]

const workspaceFolderOf = (file: string): string => {
  const folder = dirname(resolve(file))
  return editorFolders.includes(basename(folder)) ? dirname(folder) : folder
}

const hostVariablesOf = (workspaceFolder: string): { readonly [name: string]: string } => ({
  ...definedOnly({ userHome: homeFolder() }),
  workspaceFolder,
  workspaceFolderBasename: basename(workspaceFolder),
  pathSeparator: sep,
  "/": sep
})

/** Adds the variables of an environment file to a server as placeholders, which keep the values secret. */
const withEnvFileVariables = (server: ServerConfig, values: ReadonlyArray<[string, unknown]>): ServerConfig => {
  if (server.type !== "stdio") return server
  const added = Object.fromEntries(values.map(([name]) => [name, `\${envFile:${name}}`]))
  const env = { ...added, ...asObject(server.parameters["env"]) }
  return { ...server, parameters: { ...server.parameters, env } }
}

/** Sets the working directory like VS Code: the workspace folder. */
const withWorkspaceCwd = (server: ServerConfig): ServerConfig =>
  server.type === "stdio" && server.parameters["cwd"] === null
    ? { ...server, parameters: { ...server.parameters, cwd: "${workspaceFolder}" } }
    : server

const readConfigFile = Effect.fnUntraced(function* (file: string): Effect.fn.Return<ConfigFile> {
  const read = yield* Effect.result(readDocument(file, jsonc))
  const source = resolve(file)
  const unusable = { file, dialect: undefined, config: undefined, variables: {}, sources: [source] }
  if (Result.isFailure(read)) {
    return { ...unusable, diagnostics: read.failure, locate: () => ({ line: 1, column: 1 }) }
  }
  const { locate, value } = read.success
  const diagnosticOf =
    (severity: ConfigDiagnostic["severity"]) =>
    ({ issue, path }: ValidationIssue): ConfigDiagnostic => ({ severity, file, path, issue, ...locate(path) })
  const { config, dialect, envFiles, errors, warnings } = parseConfig(value)
  const diagnostics = [...errors.map(diagnosticOf("error")), ...warnings.map(diagnosticOf("warning"))]
  if (config === undefined) return { ...unusable, dialect, diagnostics, locate }

  const hostVariables = hostVariablesOf(workspaceFolderOf(file))
  const root = serversKeyOf(dialect)
  const servers: { [name: string]: ServerConfig } = {}
  const variables: { [name: string]: { readonly [name: string]: string | Redacted.Redacted<string> } } = {}
  const sources = [source]
  for (const [name, server] of Object.entries(config.servers)) {
    const placedServer = dialect === "VS Code" ? withWorkspaceCwd(server) : server
    const given = envFiles.get(name)
    servers[name] = placedServer
    variables[name] = hostVariables
    if (given === undefined) continue
    const rendered = renderPlaceholders(given, (word) => hostVariables[word])
    const path = resolve(hostVariables["workspaceFolder"] ?? "", String(rendered.value))
    sources.push(path)
    const environment = yield* Effect.result(readTextFile(path))
    if (Result.isFailure(environment)) {
      const issue = `${path}: ${rendered.unresolved.has("userHome") ? noHomeAdvice() : environment.failure}`
      diagnostics.push(diagnosticOf("error")({ path: [root, name, "envFile"], issue }))
      continue
    }
    const values = Object.entries(parseEnv(environment.success))
    servers[name] = withEnvFileVariables(placedServer, values)
    variables[name] = {
      ...hostVariables,
      ...Object.fromEntries(values.map(([key, value]) => [`envFile:${key}`, Redacted.make(value ?? "")]))
    }
  }
  return { file, dialect, config: { ...config, servers }, variables, diagnostics, sources, locate }
})

/** Reads the configuration of a Computer from files of any dialect. An error in one file leaves `setup` undefined. */
export const readConfigFiles = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const loadedFiles = yield* Effect.forEach([...new Set(files)], readConfigFile)
  const { conflicts, config } = mergeConfigs(
    loadedFiles.flatMap(({ config: part, file }) => (part === undefined ? [] : [{ file, config: part }]))
  )
  const diagnostics = [
    ...loadedFiles.flatMap((loaded) => loaded.diagnostics),
    ...conflicts.map(({ files: [first, second], kind, name }): ConfigDiagnostic => {
      const loaded = loadedFiles.find(({ file }) => file === second)
      const root = serversKeyOf(loaded?.dialect)
      const index = loaded?.config?.inputs.findIndex(({ id }) => id === name) ?? 0
      const path = kind === "server" ? [root, name] : ["inputs", index]
      const issue = `${kind} "${name}" is also defined in ${first}`
      return { severity: "error", file: second, path, issue, ...loaded?.locate(path) }
    })
  ]
  const isUsable = diagnostics.every(({ severity }) => severity !== "error")
  const variables: Variables = Object.assign({}, ...loadedFiles.map((loaded) => loaded.variables))
  const setup: Setup | undefined = isUsable ? { config, variables } : undefined
  const sources = loadedFiles.flatMap((loaded) => loaded.sources)
  return { files: loadedFiles, diagnostics, setup, sources }
})

/** Warns of values for inputs that are not configured: probably typing errors. */
export const unknownInputWarnings = ({ inputs }: ComputerConfig, given: { readonly [id: string]: unknown }) => {
  const ids = inputs.map(({ id }) => id)
  return Object.keys(given)
    .filter((id) => !ids.includes(id))
    .map((id) => `--input ${id}: unknown input${didYouMean(id, ids)}`)
}
