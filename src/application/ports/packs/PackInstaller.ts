import { Context, Data, type Effect } from "effect"

/** The packages of a pack could not be installed. */
export class PackInstallError extends Data.TaggedError("PackInstallError")<{ readonly message: string }> {}

export class PackInstaller extends Context.Service<
  PackInstaller,
  {
    /**
     * Installs npm packages, each a name with a version, into the folder of a pack. Does nothing when exactly these are
     * installed. `onLine` gets the output of the installation.
     */
    readonly install: (
      folder: string,
      packages: ReadonlyArray<string>,
      onLine: (line: string) => Effect.Effect<void>
    ) => Effect.Effect<void, PackInstallError>
  }
>()("a2c-smcp/application/ports/PackInstaller") {}
