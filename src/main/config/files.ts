import { homedir } from "node:os"
import { basename, dirname, resolve, sep } from "node:path"
import { parseEnv } from "node:util"
import { Effect, FileSystem, Redacted, Result } from "effect"
import { mergeConfigs, readConfig } from "../../domain/config/config.ts"
import type { Dialect } from "../../domain/config/dialects.ts"
import { render } from "../../domain/config/placeholders.ts"
import type { Setup, Variables } from "../../domain/config/setup.ts"
import { type Fault, spellPath } from "../../domain/explain.ts"
import { isJsonObject } from "../../domain/json.ts"
import type { ComputerConfig, ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { type Position, readJsonc } from "./jsonc.ts"

/** Something to say about a file. An error keeps all files together from being used. */
export interface Finding extends Fault, Partial<Position> {
  readonly severity: "error" | "warning"
  readonly file: string
}

/** What one file turned out to be. */
export interface ConfigFile {
  readonly file: string
  readonly dialect: Dialect | undefined
  readonly config: ComputerConfig | undefined
  /** Where a value stands in the file, or the innermost one around it that exists. */
  readonly locate: (path: ReadonlyArray<PropertyKey>) => Position
}

/** What all files of a Computer say together. */
interface ConfigFiles {
  readonly files: ReadonlyArray<ConfigFile>
  readonly findings: ReadonlyArray<Finding>
  /** Missing exactly when one of the findings is an error. */
  readonly setup: Setup | undefined
  /** Every file that was looked at, the ones with environment variables too, by absolute path. */
  readonly sources: ReadonlyArray<string>
}

/** A finding as compilers write them: `mcp.json:12:5: error: servers.a.command: Missing key`. */
export const spellFinding = ({ column, file, issue, line, path, severity }: Finding): string => {
  const where = line === undefined ? file : `${file}:${line}:${column ?? 1}`
  const what = path.length === 0 ? issue : `${spellPath(path)}: ${issue}`
  return `${where}: ${severity}: ${what}`
}

/** Editors keep their configuration in a folder of this name inside the folder it is for. */
const editorFolders = [".vscode", ".cursor"]

const workspaceOf = (file: string): string => {
  const folder = dirname(resolve(file))
  return editorFolders.includes(basename(folder)) ? dirname(folder) : folder
}

type Words = { readonly [name: string]: string | Redacted.Redacted<string> }

const wordsOf = (workspaceFolder: string): { readonly [name: string]: string } => ({
  userHome: homedir(),
  workspaceFolder,
  workspaceFolderBasename: basename(workspaceFolder),
  pathSeparator: sep,
  "/": sep
})

/** The server with the variables of its file in its environment, each as a placeholder: values stay unseen. */
const withEnvironment = (server: ServerConfig, names: ReadonlyArray<string>): ServerConfig => {
  if (server.type !== "stdio") return server
  const env = server.parameters["env"]
  const own = isJsonObject(env) ? env : {}
  const added = Object.fromEntries(names.map((name) => [name, `\${envFile:${name}}`]))
  return { ...server, parameters: { ...server.parameters, env: { ...added, ...own } } }
}

/** An editor starts its servers in the folder it works on. */
const inWorkspace = (server: ServerConfig): ServerConfig =>
  server.type === "stdio" && server.parameters["cwd"] === null
    ? { ...server, parameters: { ...server.parameters, cwd: "${workspaceFolder}" } }
    : server

/** What one file says, and everything there is to say about it. */
interface Reading extends ConfigFile {
  readonly variables: Variables
  readonly findings: ReadonlyArray<Finding>
  readonly sources: ReadonlyArray<string>
}

/** The text of a file, or why there is none, in words. */
export const readText = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  return yield* Effect.result(
    Effect.mapError(fs.readFileString(file), ({ message, reason }) => {
      if (reason._tag === "NotFound") return "there is no such file"
      const code = reason.cause instanceof Error && "code" in reason.cause ? reason.cause.code : undefined
      return code === "EISDIR" ? "it is a folder" : `cannot be read: ${message}`
    })
  )
})

const readFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<Reading, never, FileSystem.FileSystem> {
  const text = yield* readText(file)
  const source = resolve(file)
  const nothing = { file, dialect: undefined, config: undefined, variables: {}, sources: [source] }
  if (Result.isFailure(text)) {
    const finding = { severity: "error", file, path: [], issue: text.failure } as const
    return { ...nothing, findings: [finding], locate: () => ({ line: 1, column: 1 }) }
  }
  const document = readJsonc(text.success)
  const { locate } = document
  const found = (severity: Finding["severity"], { issue, path }: Fault): Finding => ({
    severity,
    file,
    path,
    issue,
    ...locate(path)
  })
  if (document.faults.length > 0) {
    const findings = document.faults.map((fault): Finding => ({ ...fault, severity: "error", file }))
    return { ...nothing, findings, locate }
  }
  const { config, dialect, envFiles, faults, warnings } = readConfig(document.value)
  const findings = [
    ...faults.map((fault) => found("error", fault)),
    ...warnings.map((warning) => found("warning", warning))
  ]
  if (config === undefined) return { ...nothing, dialect, findings, locate }

  const words = wordsOf(workspaceOf(file))
  const root = dialect === "mcpServers" ? "mcpServers" : "servers"
  const servers: { [name: string]: ServerConfig } = {}
  const variables: { [name: string]: Words } = {}
  const sources = [source]
  for (const [name, server] of Object.entries(config.servers)) {
    const placed = dialect === "VS Code" ? inWorkspace(server) : server
    const given = envFiles.get(name)
    servers[name] = placed
    variables[name] = words
    if (given === undefined) continue
    const path = resolve(words["workspaceFolder"] ?? "", String(render(given, (word) => words[word]).value))
    sources.push(path)
    const environment = yield* readText(path)
    if (Result.isFailure(environment)) {
      findings.push(
        found("error", { path: [root, name, "envFile"], issue: `${path}: ${environment.failure}` })
      )
      continue
    }
    const entries = Object.entries(parseEnv(environment.success))
    const values = entries.map(([key, value]) => [`envFile:${key}`, Redacted.make(value ?? "")] as const)
    servers[name] = withEnvironment(
      placed,
      entries.map(([key]) => key)
    )
    variables[name] = { ...words, ...Object.fromEntries(values) }
  }
  return { file, dialect, config: { ...config, servers }, variables, findings, sources, locate }
})

/** Reads the configuration of a Computer from one or several files, in whichever dialect each is written. */
export const readConfigFiles = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const readings = yield* Effect.forEach([...new Set(files)], readFile)
  const { clashes, config } = mergeConfigs(
    readings.flatMap(({ config: part, file }) => (part === undefined ? [] : [{ file, config: part }]))
  )
  const findings = [
    ...readings.flatMap((reading) => reading.findings),
    ...clashes.map(({ files: [first, second], kind, name }): Finding => {
      const reading = readings.find(({ file }) => file === second)
      const root = reading?.dialect === "mcpServers" ? "mcpServers" : "servers"
      const index = reading?.config?.inputs.findIndex(({ id }) => id === name) ?? 0
      const path = kind === "server" ? [root, name] : ["inputs", index]
      const issue = `${kind} "${name}" is defined in ${first} too`
      return { severity: "error", file: second, path, issue, ...reading?.locate(path) }
    })
  ]
  const isUsable = findings.every(({ severity }) => severity !== "error")
  const variables: Variables = Object.assign({}, ...readings.map((reading) => reading.variables))
  return {
    files: readings,
    findings,
    setup: isUsable ? { config, variables } : undefined,
    sources: readings.flatMap(({ sources }) => sources)
  } satisfies ConfigFiles
})
