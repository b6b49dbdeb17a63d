import { Context, Data, type Effect } from "effect"
import type { PackLanguage } from "../../../domain/packs/packNames.ts"

/** The packages of a pack could not be installed. */
export class PackInstallError extends Data.TaggedError("PackInstallError")<{ readonly message: string }> {}

export interface PackToInstall {
  readonly folder: string
  readonly language: PackLanguage
  /** Each a name with a version or a range, as `npm` or `pip` take it. */
  readonly packages: ReadonlyArray<string>
}

/** What runs the pack: the interpreter of its environment, for a Python pack. */
export interface InstalledPack {
  readonly interpreter?: string
}

export class PackInstaller extends Context.Service<
  PackInstaller,
  {
    /**
     * Installs the packages of a pack: those of npm into its folder, those of Python into an environment outside of it.
     * Does nothing when exactly these are installed. `onLine` gets the output of the installation.
     */
    readonly install: (
      pack: PackToInstall,
      onLine: (line: string) => Effect.Effect<void>
    ) => Effect.Effect<InstalledPack, PackInstallError>
  }
>()("a2c-smcp/application/ports/PackInstaller") {}
