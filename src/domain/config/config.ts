import { Result, Schema } from "effect"
import { explainFaults, type Fault, faultsOf } from "../explain.ts"
import { ComputerConfig } from "../protocol/v0_2/config.ts"
import { type Dialect, translate } from "./dialects.ts"

/** What a configuration says. Paths are those of the original, whatever its dialect. */
export interface ConfigReading {
  /** Missing when it is written in none of them. */
  readonly dialect: Dialect | undefined
  /** Missing exactly when there are faults. */
  readonly config: ComputerConfig | undefined
  readonly faults: ReadonlyArray<Fault>
  /** What was left out, or means something else here than where it came from. */
  readonly warnings: ReadonlyArray<Fault>
  /** The files from which servers take more variables, by name of the server. */
  readonly envFiles: ReadonlyMap<string, string>
}

const decode = Schema.decodeUnknownResult(ComputerConfig, { errors: "all" })

/** Reads a Computer's configuration in any of its dialects, and says everything that is wrong with it. */
export const readConfig = (given: unknown): ConfigReading => {
  const { dialect, envFiles, faults, origin, value, warnings } = translate(given)
  const reading = { dialect, envFiles, warnings }
  if (faults.length > 0) return { ...reading, config: undefined, faults }
  const decoded = decode(value)
  return Result.isSuccess(decoded)
    ? { ...reading, config: decoded.success, faults: [] }
    : {
        ...reading,
        config: undefined,
        faults: faultsOf(decoded.failure).map(({ issue, path }) => ({ path: origin(path), issue }))
      }
}

/**
 * Reads a Computer's configuration, `{inputs, servers}` as A2C or VS Code writes it or `{mcpServers}`, or says in one
 * line what is wrong and where. A server may leave out its `name`: the key it stands under is its name.
 */
export const readComputerConfig = (value: unknown): Result.Result<ComputerConfig, string> => {
  const { config, faults } = readConfig(value)
  return config === undefined ? Result.fail(explainFaults(faults)) : Result.succeed(config)
}

/** A configuration and the file it stands in. */
export interface ConfigPart {
  readonly file: string
  readonly config: ComputerConfig
}

/** Something that two files define, where only one may. */
export interface Clash {
  readonly kind: "server" | "input"
  readonly name: string
  readonly files: readonly [string, string]
}

/** Puts the configurations of several files together, in their order; what two of them define is a clash. */
export const mergeConfigs = (
  parts: ReadonlyArray<ConfigPart>
): { readonly config: ComputerConfig; readonly clashes: ReadonlyArray<Clash> } => {
  const claims = parts.flatMap(({ config, file }) => [
    ...Object.keys(config.servers).map((name) => ({ kind: "server", name, file }) as const),
    ...config.inputs.map(({ id }) => ({ kind: "input", name: id, file }) as const)
  ])
  return {
    config: {
      inputs: parts.flatMap(({ config }) => config.inputs),
      servers: Object.assign({}, ...parts.map(({ config }) => config.servers))
    },
    clashes: claims.flatMap(({ file, kind, name }, index) => {
      const first = claims.findIndex((claim) => claim.kind === kind && claim.name === name)
      const owner = claims[first]
      return first === index || owner === undefined ? [] : [{ kind, name, files: [owner.file, file] }]
    })
  }
}
