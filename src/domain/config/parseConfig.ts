import { Result, Schema } from "effect"
import { formatIssues, type ValidationIssue, toValidationIssues } from "../validation.ts"
import { ComputerConfig } from "./computerConfig.ts"
import { type Dialect, translateConfig } from "./dialects.ts"

/** What a configuration says. Paths are those of the original, whatever its dialect. */
export interface ParsedConfig {
  /** Missing when it is written in none of them. */
  readonly dialect: Dialect | undefined
  /** Missing exactly when there are faults. */
  readonly config: ComputerConfig | undefined
  readonly errors: ReadonlyArray<ValidationIssue>
  /** What was left out, or means something else here than where it came from. */
  readonly warnings: ReadonlyArray<ValidationIssue>
  /** The files from which servers take more variables, by name of the server. */
  readonly envFiles: ReadonlyMap<string, string>
}

const decodeComputerConfig = Schema.decodeUnknownResult(ComputerConfig, { errors: "all" })

/** Reads a Computer's configuration in any of its dialects, and says everything that is wrong with it. */
export const parseConfig = (source: unknown): ParsedConfig => {
  const { dialect, envFiles, errors, toOriginalPath, value, warnings } = translateConfig(source)
  const common = { dialect, envFiles, warnings }
  if (errors.length > 0) return { ...common, config: undefined, errors }
  const decoded = decodeComputerConfig(value)
  return Result.isSuccess(decoded)
    ? { ...common, config: decoded.success, errors: [] }
    : {
        ...common,
        config: undefined,
        errors: toValidationIssues(decoded.failure).map(({ issue, path }) => ({
          path: toOriginalPath(path),
          issue
        }))
      }
}

/**
 * Reads a Computer's configuration, `{inputs, servers}` as A2C or VS Code writes it or `{mcpServers}`, or says in one
 * line what is wrong and where. A server may leave out its `name`: the key it stands under is its name.
 */
export const parseComputerConfig = (value: unknown): Result.Result<ComputerConfig, string> => {
  const { config, errors } = parseConfig(value)
  return config === undefined ? Result.fail(formatIssues(errors)) : Result.succeed(config)
}

/** A configuration and the file it stands in. */
export interface ConfigSource {
  readonly file: string
  readonly config: ComputerConfig
}

/** Something that two files define, where only one may. */
export interface ConfigConflict {
  readonly kind: "server" | "input"
  readonly name: string
  readonly files: readonly [string, string]
}

/** Puts the configurations of several files together, in their order; what two of them define is a clash. */
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
