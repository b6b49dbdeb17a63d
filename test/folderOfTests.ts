import { afterAll } from "vitest"
import { createFolder, removeFolder } from "./temporaryFolder.ts"

/** Creates an empty folder for all tests of the calling file, removed after the last. */
export const folderOfTests = (): string => {
  const folder = createFolder()
  afterAll(() => removeFolder(folder))
  return folder
}
