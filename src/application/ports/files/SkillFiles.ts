import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import type { ArchiveFormat } from "../../../domain/skills/skillResources.ts"

/**
 * A file or folder could not be used.
 *
 * - `not_found`: it does not exist, or is not of the expected kind
 * - `traversal`: a link leads out of its root
 * - `forbidden`: the system denies access
 * - `changed`: the file has changed since it was opened
 * - `io_error`: every other failure of the system
 */
export class SkillFileError extends Data.TaggedError("SkillFileError")<{
  readonly reason: "not_found" | "traversal" | "forbidden" | "changed" | "io_error"
  readonly message: string
}> {}

/** The files of a skill could not be staged. */
export class StagingError extends Data.TaggedError("StagingError")<{ readonly message: string }> {}

export interface OpenSkillFile {
  /** Its path below the root, with all links resolved and `/` between the segments. */
  readonly path: string
  /** In bytes. */
  readonly size: number
  /** Identifies the file and its content: another text after every change. */
  readonly version: string
  /** Reads at most `length` bytes from `offset`, fewer only at the end. Fails with `changed` for another version. */
  readonly read: (offset: number, length: number) => Effect.Effect<Uint8Array, SkillFileError>
}

export interface StagedFile {
  /** A normalized path below the folder of the skill. */
  readonly path: string
  readonly bytes: Uint8Array
  readonly isExecutable?: boolean
}

export type StagedContent =
  | { readonly _tag: "Archive"; readonly format: ArchiveFormat; readonly bytes: Uint8Array }
  | { readonly _tag: "Files"; readonly files: ReadonlyArray<StagedFile> }

/** The file system of a Computer, as far as skills need it. Paths are absolute, or below a root with `/` in between. */
export class SkillFiles extends Context.Service<
  SkillFiles,
  {
    /** The names of the folders in a folder, sorted, without hidden ones. A missing folder has none. */
    readonly listFolders: (folder: string) => Effect.Effect<ReadonlyArray<string>, SkillFileError>
    /** The absolute path of a folder below a root, with all links resolved; `.` is the root itself. */
    readonly resolveFolder: (root: string, path: string) => Effect.Effect<string, SkillFileError>
    /** Opens a file below a root for the scope. Fails with `traversal` when a link on the path leads out of the root. */
    readonly open: (root: string, path: string) => Effect.Effect<OpenSkillFile, SkillFileError, Scope.Scope>
    /**
     * Replaces the files of a skill in a folder that only this user can access, and gives its path. The path stays the
     * same for the same server and skill. A failure leaves the previous files.
     */
    readonly stage: (server: string, skill: string, content: StagedContent) => Effect.Effect<string, StagingError>
    /** Emits when one of these folders may have changed, from the moment when this effect succeeds. */
    readonly watch: (folders: ReadonlyArray<string>) => Effect.Effect<Stream.Stream<void>, never, Scope.Scope>
    /** Parses YAML to a JSON value; fails with the first line of the error. */
    readonly parseYaml: (text: string) => Effect.Effect<unknown, string>
  }
>()("a2c-smcp/application/ports/SkillFiles") {}
