import { Duration, Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { type PackConfig, readPackConfig } from "../../domain/packs/config.ts"
import type { PackFiles } from "../../domain/packs/naming.ts"
import { readPackages } from "../../domain/packs/packages.ts"
import type { FoundEntry } from "../ports/PackFolders.ts"
import type { CallLimits } from "./PackCalls.ts"
import type { WantedPack } from "./PackSupervision.ts"

/** How packs run that do not say it themselves. */
export interface PackDefaults {
  readonly isolate: boolean
  /** In MiB. */
  readonly memory: number
  readonly limits: CallLimits
}

/** What was found, ready to be run. */
export interface ReadPack {
  readonly config: PackConfig
  readonly pack: WantedPack
  readonly warnings: ReadonlyArray<string>
}

const join = (folder: string, file: string) => `${folder}/${file}`

/** What is to be run of what was found, as its `config.yaml` and the host want it, or why that is nothing. */
export const wantedPack = (
  { config: given = Result.succeed(undefined), files, path, version }: FoundEntry,
  name: string,
  { className, file, warnings }: PackFiles,
  { isolate, limits, memory }: PackDefaults
): Result.Result<ReadPack, string> =>
  Result.gen(function* () {
    const raw = yield* Result.mapError(given, (why) => `its config.yaml cannot be read: ${why}`)
    const read = yield* Result.mapError(readPackConfig(raw), (why) => `its config.yaml is wrong: ${why}`)
    const { config } = read
    const packages = yield* Result.mapError(
      readPackages(config.packages),
      (why) => `its packages cannot be installed: ${why}`
    )
    const isFolder = files !== undefined
    const { concurrency, timeout } = config
    return {
      config,
      warnings: [...warnings, ...read.warnings, ...packages.hints],
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
          file: isFolder ? join(path, file) : path,
          config: isJsonObject(raw) ? raw : {},
          isolated: isolate || config.isolation === "worker",
          memory: config.memory ?? memory
        }
      }
    }
  })
