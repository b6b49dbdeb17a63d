import { Duration, Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { type PackConfig, decodePackConfig } from "../../domain/packs/packConfig.ts"
import type { PackFiles } from "../../domain/packs/packNames.ts"
import { parsePackages } from "../../domain/packs/npmPackages.ts"
import type { PackFolderEntry } from "../ports/packs/PackFolders.ts"
import type { PackCallLimits } from "./RunningPack.ts"
import type { DesiredPack } from "./PackSupervision.ts"

/** How packs run that do not say it themselves. */
export interface PackDefaults {
  readonly isolate: boolean
  /** In MiB. */
  readonly memory: number
  readonly limits: PackCallLimits
}

/** What was found, ready to be run. */
export interface ResolvedPack {
  readonly config: PackConfig
  readonly pack: DesiredPack
  readonly warnings: ReadonlyArray<string>
}

const joinPath = (folder: string, file: string) => `${folder}/${file}`

/** What is to be run of what was found, as its `config.yaml` and the host want it, or why that is nothing. */
export const resolvePack = (
  { config: given = Result.succeed(undefined), files, path, version }: PackFolderEntry,
  name: string,
  { className, file, warnings }: PackFiles,
  { isolate, limits, memory }: PackDefaults
): Result.Result<ResolvedPack, string> =>
  Result.gen(function* () {
    const rawConfig = yield* Result.mapError(given, (reason) => `its config.yaml cannot be read: ${reason}`)
    const decoded = yield* Result.mapError(
      decodePackConfig(rawConfig),
      (reason) => `its config.yaml is wrong: ${reason}`
    )
    const { config } = decoded
    const packages = yield* Result.mapError(
      parsePackages(config.packages),
      (reason) => `its packages cannot be installed: ${reason}`
    )
    const isFolder = files !== undefined
    const { concurrency, timeout } = config
    return {
      config,
      warnings: [...warnings, ...decoded.warnings, ...packages.hints],
      pack: {
        config,
        packages: packages.specs,
        limits: {
          ...limits,
          ...(timeout !== undefined && { timeout: Duration.seconds(timeout) }),
          ...(concurrency !== undefined && { concurrency })
        },
        source: {
          name,
          className,
          version,
          folder: isFolder ? path : path.slice(0, path.lastIndexOf("/")),
          file: isFolder ? joinPath(path, file) : path,
          config: isJsonObject(rawConfig) ? rawConfig : {},
          isolated: isolate || config.isolation === "worker",
          memory: config.memory ?? memory
        }
      }
    }
  })
