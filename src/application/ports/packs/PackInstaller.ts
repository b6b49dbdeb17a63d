import { Context, Data, type Effect } from "effect"

/** The packages of a pack could not be installed. */
export class PackInstallError extends Data.TaggedError("PackInstallError")<{ readonly message: string }> {}

/** Installs what packs depend on. */
export class PackInstaller extends Context.Service<
  PackInstaller,
  {
    /**
     * Installs packages, each a name with a version as npm has it, into a pack's own folder. Does nothing when exactly
     * these are there already. `onLine` hears what the installation says.
     */
    readonly install: (
      folder: string,
      packages: ReadonlyArray<string>,
      onLine: (line: string) => Effect.Effect<void>
    ) => Effect.Effect<void, PackInstallError>
  }
>()("a2c-smcp/application/ports/PackInstaller") {}
