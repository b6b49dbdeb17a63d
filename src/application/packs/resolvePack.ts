import { Duration, Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { type PackConfig, decodePackConfig } from "../../domain/packs/packConfig.ts"
import type { PackFiles } from "../../domain/packs/packNames.ts"
import { parsePackages } from "../../domain/packs/npmPackages.ts"
import type { PackFolderEntry } from "../ports/packs/PackFolders.ts"
import type { PackSource } from "../ports/packs/PackLoader.ts"
import type { PackCallLimits } from "./RunningPack.ts"

/** Settings of packs whose `config.yaml` names none. */
export interface PackDefaults {
  readonly isolate: boolean
  /** In MiB. */
  readonly memory: number
  readonly limits: PackCallLimits
}

/** A version of a pack that is ready to run. */
export interface ResolvedPack {
  readonly config: PackConfig
  readonly source: PackSource
  /** Its npm packages, as `name` or `name@range`. */
  readonly packages: ReadonlyArray<string>
  readonly limits: PackCallLimits
  readonly warnings: ReadonlyArray<string>
}

/** Combines a folder entry, its `config.yaml` and the defaults of the host, or says why the pack cannot run. */
export const resolvePack = (
  { config: given = Result.succeed(undefined), files, path, version }: PackFolderEntry,
  name: string,
  { className, file, warnings }: PackFiles,
  { isolate, limits, memory }: PackDefaults
): Result.Result<ResolvedPack, string> =>
  Result.gen(function* () {
    const rawConfig = yield* Result.mapError(given, (reason) => `config.yaml cannot be read: ${reason}`)
    const decoded = yield* Result.mapError(decodePackConfig(rawConfig), (reason) => `config.yaml is invalid: ${reason}`)
    const { config } = decoded
    const packages = yield* Result.mapError(
      parsePackages(config.packages),
      (reason) => `its packages cannot be installed: ${reason}`
    )
    const isFolder = files !== undefined
    const { concurrency = limits.concurrency, timeout } = config
    return {
      config,
      warnings: [...warnings, ...decoded.warnings, ...packages.hints],
      packages: packages.specs,
      limits: {
        ...limits,
        concurrency,
        timeout: timeout === undefined ? limits.timeout : Duration.seconds(timeout)
      },
      source: {
        name,
        className,
        version,
        folder: isFolder ? path : path.slice(0, path.lastIndexOf("/")),
        file: isFolder ? `${path}/${file}` : path,
        config: isJsonObject(rawConfig) ? rawConfig : {},
        isolated: isolate || config.isolation === "worker",
        memory: config.memory ?? memory
      }
    }
  })
