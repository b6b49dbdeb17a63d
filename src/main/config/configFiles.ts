import { basename, dirname, resolve, sep } from "node:path"
import { parseEnv } from "node:util"
import { Effect, Redacted, Result } from "effect"
import { FileBecamePipe, readFileContents } from "../../adapters/process/fileContents.ts"
import { homeFolder, noHomeAdvice } from "../../adapters/process/userFolders.ts"
import { mergeConfigs, parseConfig, type Dialect, serversKeyOf } from "../../domain/config/parseConfig.ts"
import { renderPlaceholders } from "../../domain/config/placeholders.ts"
import type { Setup, Variables } from "../../domain/config/Setup.ts"
import { type ValidationIssue, formatPath } from "../../domain/validation.ts"
import { asObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { ComputerConfig, ServerConfig } from "../../domain/config/computerConfig.ts"
import { didYouMean } from "./didYouMean.ts"
import { type JsoncDocument, type Position, parseJsonc } from "./jsonc.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"

/** An error or warning about a file. An error in one file makes all files unusable. */
export interface ConfigDiagnostic extends ValidationIssue, Partial<Position> {
  readonly severity: "error" | "warning"
  readonly file: string
}

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

/** Formats a diagnostic like compilers: `mcp.json:12:5: error: servers.a.command: Missing key`. */
export const formatDiagnostic = ({ column, file, issue, line, path, severity }: ConfigDiagnostic): string => {
  const where = line === undefined ? file : `${file}:${line}:${column ?? 1}`
  const what = path.length === 0 ? issue : `${formatPath(path)}: ${issue}`
  return `${where}: ${severity}: ${what}`
}

/** Folders of editor configurations inside the workspace folder. */
const editorFolders = [".vscode", ".cursor"]

const workspaceFolderOf = (file: string): string => {
  const folder = dirname(resolve(file))
  return editorFolders.includes(basename(folder)) ? dirname(folder) : folder
}

type HostVariables = { readonly [name: string]: string | Redacted.Redacted<string> }

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

/** In bytes. */
const maxTextBytes = 64 * 1024 * 1024

const fileErrorReasons: { readonly [code: string]: string } = {
  EACCES: "cannot be read: permission denied",
  EISDIR: "is a directory",
  ELOOP: "cannot be read: it is a symbolic link to itself",
  ENAMETOOLONG: "cannot be read: the name is too long",
  ENOENT: "file not found",
  ENOTDIR: "file not found: a part of the path is a file"
}

const formatFileError = (error: unknown): string => {
  if (error instanceof FileBecamePipe) return "became a pipe: its content is read only at the start"
  return fileErrorReasons[systemErrorCode(error) ?? ""] ?? `cannot be read: ${errorMessage(error)}`
}

/** Reads a text file; fails with a reason for people. A pipe is read once. */
export const readTextFile = (file: string): Effect.Effect<string, string> =>
  Effect.tryPromise({ try: () => readFileContents(file, maxTextBytes + 1), catch: formatFileError }).pipe(
    Effect.filterOrFail(
      (text) => text.length <= maxTextBytes,
      () => "is larger than 64 MiB"
    )
  )

/** Reads and parses a file; fails with the errors that make it unusable. */
export const readDocument = Effect.fnUntraced(function* (file: string, parse: (source: string) => JsoncDocument) {
  const failWith = (errors: ReadonlyArray<Omit<ConfigDiagnostic, "file" | "severity">>) =>
    Effect.fail(errors.map((error): ConfigDiagnostic => ({ ...error, file, severity: "error" })))
  const text = yield* Effect.catch(readTextFile(file), (issue) => failWith([{ path: [], issue }]))
  const document = parse(text)
  return document.errors.length > 0 ? yield* failWith(document.errors) : document
})

/** The maximum number of reported errors: thousands of entries may have the same one. */
const maxReportedErrors = 10

/** Reads a file and decodes its value. Fails with formatted diagnostics. */
export const readDecodedFile = Effect.fnUntraced(function* <A>(
  file: string,
  parse: (source: string) => JsoncDocument,
  decode: (value: unknown) => Result.Result<A, ReadonlyArray<ValidationIssue>>
): Effect.fn.Return<A, ReadonlyArray<string>> {
  const report = (errors: ReadonlyArray<ConfigDiagnostic>) => errors.slice(0, maxReportedErrors).map(formatDiagnostic)
  const { locate, value } = yield* Effect.mapError(readDocument(file, parse), report)
  return yield* Effect.mapError(Effect.fromResult(decode(value)), (errors) =>
    report(errors.map((error) => ({ ...error, ...locate(error.path), file, severity: "error" })))
  )
})

const readConfigFile = Effect.fnUntraced(function* (file: string): Effect.fn.Return<ConfigFile> {
  const read = yield* Effect.result(readDocument(file, parseJsonc))
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
  const variables: { [name: string]: HostVariables } = {}
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
