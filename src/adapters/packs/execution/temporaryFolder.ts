import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"

/** Makes a folder for the files of one call, private to this user; the scope removes it. */
export const makeTemporaryFolder = (prefix: string, parent = tmpdir()): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, prefix))),
    (folder) =>
      Effect.catch(
        Effect.tryPromise(() => rm(folder, { recursive: true, force: true })),
        ({ cause }) => Effect.logWarning("removing uploaded files failed", { folder }, cause)
      )
  )
