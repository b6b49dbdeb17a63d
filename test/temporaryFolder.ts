import { mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"

export const createFolder = () => realpathSync(mkdtempSync(join(tmpdir(), "a2c-")))
export const removeFolder = (folder: string) => rmSync(folder, { recursive: true, force: true })

/** A new empty folder, removed with the scope. */
export const temporaryFolder = Effect.acquireRelease(Effect.sync(createFolder), (folder) =>
  Effect.sync(() => removeFolder(folder))
)
