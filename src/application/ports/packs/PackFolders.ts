import { Context, Data, type Effect, type Result, type Scope, type Stream } from "effect"

export class FolderUnreadable extends Data.TaggedError("FolderUnreadable")<{ readonly message: string }> {}

/** An entry of a pack folder: a folder or a file that may be a pack. */
export interface PackFolderEntry {
  readonly name: string
  /** Absolute. */
  readonly path: string
  /** Names of the files directly in a folder; missing for a file. */
  readonly files: ReadonlyArray<string> | undefined
  /** The content of `config.yaml` or `config.yml`, or why it cannot be read; missing without such a file. */
  readonly config: Result.Result<unknown, string> | undefined
  /** Changes with every file in it, except installed packages. */
  readonly version: string
}

export class PackFolders extends Context.Service<
  PackFolders,
  {
    /** The entries of a folder, sorted by name. A missing folder is empty. */
    readonly scan: (folder: string) => Effect.Effect<ReadonlyArray<PackFolderEntry>, FolderUnreadable>
    /** Emits when one of these folders may have changed, from the moment when this effect succeeds. */
    readonly watch: (folders: ReadonlyArray<string>) => Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
  }
>()("a2c-smcp/application/ports/PackFolders") {}
