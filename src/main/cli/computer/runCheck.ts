import { Effect, Layer, Option, Record, Redacted, Result } from "effect"
import { findCommandProblem } from "../../../adapters/mcp/client/stdio/serverProcess.ts"
import { noHomeAdvice } from "../../../adapters/process/userFolders.ts"
import * as VerelEngine from "../../../adapters/vrl/VerelEngine.ts"
import { Inputs } from "../../../application/computer/inputs/Inputs.ts"
import { VrlEngine } from "../../../application/ports/VrlEngine.ts"
import { inputVariableName } from "../../../domain/config/inputValues.ts"
import { decodeEndpoint } from "../../../domain/config/endpointParameters.ts"
import { parsePlaceholder, findPlaceholders } from "../../../domain/config/placeholders.ts"
import { type Setup, serversUsingInput, findVariable } from "../../../domain/config/Setup.ts"
import type { ComputerConfig, Input, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { serversKeyOf } from "../../../domain/config/parseConfig.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { vrlScript } from "../../../domain/tools/vrl.ts"
import { type ConfigFile, readConfigFiles, unknownInputWarnings } from "../../config/configFiles.ts"
import { type ConfigDiagnostic, formatDiagnostic } from "../../config/documents.ts"
import { failCommand } from "../../CommandFailed.ts"
import { formatServerLocation } from "../output/format.ts"
import { printJson, printLine, printText } from "../output/print.ts"
import { warnOfLiteralInputs } from "../flags/secretFlags.ts"
import type { CheckCommandOptions } from "./flags.ts"
import { formatQuantity } from "../../../domain/text/format.ts"

const isHttpUrl = (url: string): boolean => URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)

/** One server, without secrets. */
const serverSummary = (server: ServerConfig) => {
  const { disabled, idle, lifecycle, name, type } = server
  return { name, type, target: formatServerLocation(server), disabled, ...definedOnly({ lifecycle, idle }) }
}

const sourceTexts = {
  explicit: "given on the command line",
  environment: "from the environment",
  prompt: "asked for",
  command: "from its command",
  default: "its default"
} as const

const inputSummary = Effect.fnUntraced(function* (config: ComputerConfig, input: Input) {
  const { id, type } = input
  const [user] = serversUsingInput(config, id)
  const line = (value: string) => ({ id, type, value })
  if (user === undefined) return line("not used")
  const found = yield* Effect.result(Inputs.use(({ peek }) => peek(input, config.servers[user])))
  if (Result.isFailure(found)) return line(found.failure.message)
  if (Option.isSome(found.success)) return line(sourceTexts[found.success.value.source])
  if (type === "command") return line("from its command")
  const preset = input.default === undefined ? "" : ", or its default"
  return line(`from ${inputVariableName(id)}, or asked for at a terminal${preset}`)
})

/** Checks the placeholders, URLs and VRL scripts of a file: errors that the schema cannot find. */
const checkReferencesAndScripts = Effect.fnUntraced(function* (
  setup: Setup,
  { config, dialect, file, locate }: ConfigFile
) {
  const root = serversKeyOf(dialect)
  const diagnostics: Array<ConfigDiagnostic> = []
  for (const [name, server] of Object.entries(config?.servers ?? {})) {
    const addDiagnostic = (severity: ConfigDiagnostic["severity"], issue: string, ...below: ReadonlyArray<string>) => {
      const path = [root, name, ...below]
      diagnostics.push({ severity, file, path, issue, ...locate(path) })
    }
    for (const text of findPlaceholders(server.parameters)) {
      const reference = parsePlaceholder(text)
      if (reference._tag === "Environment") {
        const isSet = reference.fallback !== undefined || process.env[reference.name] !== undefined
        if (!isSet) addDiagnostic("warning", `the environment variable ${reference.name} is not set`)
        continue
      }
      const isKnown =
        reference._tag === "Input"
          ? setup.config.inputs.some(({ id }) => id === reference.id)
          : findVariable(setup.variables, name, reference.name) !== undefined
      const problem = text === "userHome" ? `: ${noHomeAdvice()}` : " is not defined and stays unresolved"
      if (!isKnown) addDiagnostic("warning", `placeholder \${${text}}${problem}`)
    }
    if (server.type === "stdio" && !server.disabled && findPlaceholders(server.parameters).length === 0) {
      const problem = yield* Effect.flatMap(
        Effect.fromResult(decodeEndpoint("stdio", server.parameters)),
        (endpoint) => (endpoint.type === "stdio" ? findCommandProblem(endpoint) : Effect.undefined)
      ).pipe(Effect.orElseSucceed(() => undefined))
      if (problem !== undefined) addDiagnostic("warning", problem)
    }
    const url = String(server.parameters["url"])
    if (server.type !== "stdio" && findPlaceholders(url).length === 0 && !isHttpUrl(url)) {
      addDiagnostic("error", "must be an http or https URL", ...(dialect === "A2C" ? ["server_parameters"] : []), "url")
    }
    const script = vrlScript(server.vrl)
    if (script === undefined) continue
    const errors = yield* VrlEngine.use(({ check }) => Effect.catch(check(script), (e) => Effect.succeed(e.message)))
    if (errors !== undefined) addDiagnostic("error", errors, "vrl")
  }
  return diagnostics
})

/** Prints the servers and inputs of a configuration and its diagnostics; fails when one of them is an error. */
export const runCheck = Effect.fnUntraced(function* ({ files, inputs: given, json }: CheckCommandOptions) {
  const values = Record.map(given, Redacted.value)
  const loaded = yield* readConfigFiles(files)
  const { setup } = loaded
  const { diagnostics, inputs } = yield* Effect.gen(function* () {
    if (setup === undefined) return { diagnostics: loaded.diagnostics, inputs: [] }
    yield* warnOfLiteralInputs(setup.config, given)
    const unknownInputs = unknownInputWarnings(setup.config, given).map(
      (issue): ConfigDiagnostic => ({ severity: "warning", file: "command line", path: [], issue })
    )
    const deep = yield* Effect.forEach(loaded.files, (file) => checkReferencesAndScripts(setup, file))
    return {
      diagnostics: [...loaded.diagnostics, ...deep.flat(), ...unknownInputs],
      inputs: yield* Effect.forEach(setup.config.inputs, (input) => inputSummary(setup.config, input))
    }
  }).pipe(Effect.provide(Layer.merge(Inputs.layer({ values }), VerelEngine.layer())))
  const errors = diagnostics.filter(({ severity }) => severity === "error").length
  const report = loaded.files.map(({ config, dialect, file }) => ({
    file,
    dialect: dialect ?? null,
    servers: Object.values(config?.servers ?? {}).map(serverSummary)
  }))
  if (json) {
    yield* printJson({ ok: errors === 0, files: report, inputs, findings: diagnostics })
  } else {
    for (const { dialect, file, servers } of report) {
      yield* printLine(`${file}: ${dialect === null ? "not usable" : `in the ${dialect} dialect`}`)
      for (const { disabled, idle, lifecycle, name, target, type } of servers) {
        const start = lifecycle === "lazy" ? `, lazy${idle === undefined ? "" : `, stops after ${idle}`}` : ""
        yield* printLine(`  server ${name}: ${type}, ${target}${start}${disabled ? " (disabled)" : ""}`)
      }
    }
    for (const { id, type, value } of inputs) yield* printLine(`input ${id}: ${type}, ${value}`)
    for (const diagnostic of diagnostics) yield* printText(formatDiagnostic(diagnostic).replaceAll("\n", "\n  "))
  }
  if (errors > 0) return yield* failCommand(formatQuantity(errors, "error"))
})
