import { Context, Data, type Effect, type Result, type Scope, type Stream } from "effect"

/** A folder with packs cannot be read. */
export class FolderUnreadable extends Data.TaggedError("FolderUnreadable")<{ readonly message: string }> {}

/** What lies in a folder with packs: a folder that may be a pack, or a file that may be one. */
export interface PackFolderEntry {
  /** Its name there. */
  readonly name: string
  /** By absolute path. */
  readonly path: string
  /** Names of the files directly inside, or nothing for a file. */
  readonly files: ReadonlyArray<string> | undefined
  /** What `config.yaml` or `config.yml` says, or why it cannot be read; nothing where there is none. */
  readonly config: Result.Result<unknown, string> | undefined
  /** Changes whenever a file in it does; what is installed there does not count. */
  readonly version: string
}

/** Looks into folders with packs. */
export class PackFolders extends Context.Service<
  PackFolders,
  {
    /** What lies in a folder, by name in order. A folder that does not exist is empty. */
    readonly scan: (folder: string) => Effect.Effect<ReadonlyArray<PackFolderEntry>, FolderUnreadable>
    /** Says that something in one of these folders may have changed, from the moment this effect succeeds. */
    readonly watch: (folders: ReadonlyArray<string>) => Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
  }
>()("a2c-smcp/application/ports/PackFolders") {}
