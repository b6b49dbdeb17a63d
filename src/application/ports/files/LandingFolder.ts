import { Context, Data, type Effect } from "effect"

/** A file cannot be written. The message is for the Computer's owner: it names paths. */
export class LandingFailed extends Data.TaggedError("LandingFailed")<{ readonly message: string }> {}

/** A file that is being received, under a name that no upload gets. */
export interface LandingPart {
  readonly append: (bytes: Uint8Array) => Effect.Effect<void, LandingFailed>
  /** Names the complete file at once, numbered where the name is taken, and gives its absolute path. Replaces none. */
  readonly finish: (name: string) => Effect.Effect<string, LandingFailed>
  /** Removes the file unless it is finished. */
  readonly discard: Effect.Effect<void>
}

/**
 * Writes the files that Agents upload, into folders that the Computer's owner names. The Computer runs the operations
 * uninterrupted, one at a time for each part.
 */
export class LandingFolder extends Context.Service<
  LandingFolder,
  {
    /** Opens a new part in a folder, which is created if missing. */
    readonly openPart: (folder: string) => Effect.Effect<LandingPart, LandingFailed>
    /** Removes the parts that an earlier run left in a folder, and gives their number. */
    readonly collectOrphans: (folder: string) => Effect.Effect<number, LandingFailed>
  }
>()("a2c-smcp/application/ports/LandingFolder") {}
