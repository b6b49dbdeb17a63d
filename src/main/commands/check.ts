import { Console, Effect, Layer, Option, Result } from "effect"
import * as VerelEngine from "../../adapters/vrl/VerelEngine.ts"
import { Inputs } from "../../application/computer/Inputs.ts"
import { VrlEngine } from "../../application/ports/VrlEngine.ts"
import { variableFor } from "../../domain/config/inputs.ts"
import { parseReference, placeholders } from "../../domain/config/placeholders.ts"
import { type Setup, usersOf, variableOf } from "../../domain/config/setup.ts"
import type { ComputerConfig, Input, ServerConfig } from "../../domain/protocol/v0_2/config.ts"
import { scriptOf } from "../../domain/tools/vrl.ts"
import { type ConfigFile, type Finding, readConfigFiles, spellFinding } from "../config/files.ts"
import { placeOf } from "../config/placeOf.ts"
import { strayInputs } from "../config/strayInputs.ts"
import { CommandFailed } from "../failure.ts"

/** What the command line says about the check. */
export interface CheckCommand {
  readonly files: ReadonlyArray<string>
  readonly given: { readonly [id: string]: string }
  readonly json: boolean
}

/** One server, as far as everybody may see it. */
interface ServerLine {
  readonly name: string
  readonly type: ServerConfig["type"]
  /** Its command, or where it is. */
  readonly target: string
  readonly disabled: boolean
}

/** One input, and where its value would come from. */
interface InputLine {
  readonly id: string
  readonly type: Input["type"]
  readonly value: string
}

/** Is this an address that an MCP server can have? */
const isHttpUrl = (url: string): boolean =>
  URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol)

const serverLine = (server: ServerConfig): ServerLine => ({
  name: server.name,
  type: server.type,
  target: placeOf(server),
  disabled: server.disabled
})

const sources = {
  given: "given on the command line",
  environment: "from the environment",
  person: "asked for",
  command: "from its command",
  default: "its default"
} as const

const inputLine = Effect.fnUntraced(function* (config: ComputerConfig, input: Input) {
  const { id, type } = input
  const users = usersOf(config, id)
  const line = (value: string): InputLine => ({ id, type, value })
  if (users.length === 0) return line("not used")
  const found = yield* Effect.result(Inputs.use(({ peek }) => peek(input, users[0] ?? "")))
  if (Result.isFailure(found)) return line(found.failure.message)
  if (Option.isSome(found.success)) return line(sources[found.success.value.source])
  if (type === "command") return line("from its command")
  const preset = input.default === undefined ? "" : ", or its default"
  return line(`from ${variableFor(id)}, or asked for at a terminal${preset}`)
})

/** Placeholders that nobody will fill in, and scripts that do not compile. */
const deepFindings = Effect.fnUntraced(function* (
  setup: Setup,
  { config, dialect, file, locate }: ConfigFile
) {
  const root = dialect === "mcpServers" ? "mcpServers" : "servers"
  const findings: Array<Finding> = []
  for (const [name, server] of Object.entries(config?.servers ?? {})) {
    const found = (severity: Finding["severity"], issue: string, ...below: ReadonlyArray<string>) => {
      const path = [root, name, ...below]
      findings.push({ severity, file, path, issue, ...locate(path) })
    }
    for (const text of placeholders(server.parameters)) {
      const reference = parseReference(text)
      const isKnown =
        reference._tag === "Environment"
          ? reference.fallback !== undefined || process.env[reference.name] !== undefined
          : reference._tag === "Input"
            ? setup.config.inputs.some(({ id }) => id === reference.id)
            : variableOf(setup.variables, name, reference.name) !== undefined
      if (isKnown) continue
      found(
        "warning",
        reference._tag === "Environment"
          ? `the environment variable ${reference.name} is not set`
          : `nothing stands for \${${text}}: it is left as it is`
      )
    }
    const url = String(server.parameters["url"])
    if (server.type !== "stdio" && placeholders(url).length === 0 && !isHttpUrl(url)) {
      found("error", "no http or https URL", ...(dialect === "A2C" ? ["server_parameters"] : []), "url")
    }
    const script = scriptOf(server.vrl)
    if (script === undefined) continue
    const faults = yield* Effect.match(
      VrlEngine.use(({ check }) => check(script)),
      { onFailure: ({ message }) => message, onSuccess: (faults) => faults }
    )
    if (faults !== undefined) found("error", faults, "vrl")
  }
  return findings
})

const spellServer = ({ disabled, name, target, type }: ServerLine) =>
  `  server ${name}: ${type}, ${target}${disabled ? " (disabled)" : ""}`

/** Explains the configuration of a Computer and everything that is wrong with it; fails when something is. */
export const runCheck = Effect.fnUntraced(function* ({ files, given, json }: CheckCommand) {
  const reading = yield* readConfigFiles(files)
  const { setup } = reading
  const tools = Layer.merge(Inputs.layer({ given }), VerelEngine.layer())
  const { findings, inputs } = yield* Effect.gen(function* () {
    if (setup === undefined) return { findings: reading.findings, inputs: [] }
    const stray = strayInputs(setup.config, given).map(
      (issue): Finding => ({ severity: "warning", file: "command line", path: [], issue })
    )
    const deep = yield* Effect.forEach(reading.files, (file) => deepFindings(setup, file))
    return {
      findings: [...reading.findings, ...deep.flat(), ...stray],
      inputs: yield* Effect.forEach(setup.config.inputs, (input) => inputLine(setup.config, input))
    }
  }).pipe(Effect.provide(tools))
  const errors = findings.filter(({ severity }) => severity === "error").length
  const report = reading.files.map(({ config, dialect, file }) => ({
    file,
    dialect: dialect ?? null,
    servers: Object.values(config?.servers ?? {}).map(serverLine)
  }))
  if (json) {
    yield* Console.log(JSON.stringify({ ok: errors === 0, files: report, inputs, findings }, null, 2))
  } else {
    for (const { dialect, file, servers } of report) {
      yield* Console.log(`${file}: ${dialect === null ? "not usable" : `in the ${dialect} dialect`}`)
      for (const server of servers) yield* Console.log(spellServer(server))
    }
    for (const { id, type, value } of inputs) yield* Console.log(`input ${id}: ${type}, ${value}`)
    for (const finding of findings) yield* Console.log(spellFinding(finding))
  }
  if (errors > 0) {
    return yield* new CommandFailed({ message: errors === 1 ? "1 error" : `${errors} errors` })
  }
})
