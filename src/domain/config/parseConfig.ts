import { Result, Schema } from "effect"
import { formatIssues, toValidationIssues } from "../validation.ts"
import { ComputerConfig } from "./computerConfig.ts"
import { translateConfig, type TranslatedConfig } from "./dialects.ts"

/** A parsed configuration. Paths refer to the original text. */
export interface ParsedConfig extends Omit<TranslatedConfig, "value" | "toOriginalPath"> {
  /** `undefined` exactly when there are errors. */
  readonly config: ComputerConfig | undefined
}

const decodeComputerConfig = Schema.decodeUnknownResult(ComputerConfig, { errors: "all" })

/** Parses a Computer's configuration in any dialect, and collects all errors. */
export const parseConfig = (source: unknown): ParsedConfig => {
  const { dialect, envFiles, errors, toOriginalPath, value, warnings } = translateConfig(source)
  const common = { dialect, envFiles, warnings }
  if (errors.length > 0) return { ...common, config: undefined, errors }
  return Result.match(decodeComputerConfig(value), {
    onSuccess: (config) => ({ ...common, config, errors: [] }),
    onFailure: (error) => ({
      ...common,
      config: undefined,
      errors: toValidationIssues(error).map(({ issue, path }) => ({ path: toOriginalPath(path), issue }))
    })
  })
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
