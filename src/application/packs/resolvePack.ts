import { Duration, Result } from "effect"
import { asObject } from "../../domain/json.ts"
import { decodePackConfig } from "../../domain/packs/packConfig.ts"
import type { PackFiles } from "../../domain/packs/packNames.ts"
import { parsePackages } from "../../domain/packs/npmPackages.ts"
import type { PackFolderEntry } from "../ports/packs/PackFolders.ts"
import type { PackSource } from "../ports/packs/PackLoader.ts"
import type { PackCallLimits } from "./RunningPack.ts"

/** Settings of packs whose `config.yaml` names none. */
interface PackDefaults {
  readonly isolate: boolean
  /** In MiB. */
  readonly memory: number
  readonly limits: PackCallLimits
}

/** A version of a pack that is ready to run. */
export type ResolvedPack = Result.Result.Success<ReturnType<typeof resolvePack>>

/** Combines a folder entry, its `config.yaml` and the defaults of the host, or says why the pack cannot run. */
export const resolvePack = (
  { config: given = Result.succeed(undefined), files, path, version }: PackFolderEntry,
  name: string,
  { className, file, warnings }: PackFiles,
  { isolate, limits, memory }: PackDefaults
) =>
  Result.gen(function* () {
    const rawConfig = yield* Result.mapError(given, (reason) => `config.yaml cannot be read: ${reason}`)
    const decoded = yield* Result.mapError(decodePackConfig(rawConfig), (reason) => `config.yaml is invalid: ${reason}`)
    const { config } = decoded
    const packages = yield* Result.mapError(
      parsePackages(config.packages),
      (reason) => `its packages cannot be installed: ${reason}`
    )
    const isFolder = files !== undefined
    const { concurrency = limits.concurrency } = config
    const timeout = config.timeout === undefined ? limits.timeout : Duration.seconds(config.timeout)
    const source: PackSource = {
      name,
      className,
      version,
      folder: isFolder ? path : path.slice(0, path.lastIndexOf("/")),
      file: isFolder ? `${path}/${file}` : path,
      config: asObject(rawConfig),
      isolated: isolate || config.isolation === "worker",
      memory: config.memory ?? memory
    }
    return {
      config,
      source,
      packages: packages.specs,
      limits: { ...limits, concurrency, timeout },
      warnings: [...warnings, ...decoded.warnings, ...packages.hints]
    }
  })
