import { Effect, Layer } from "effect"
import { LandingFailed, LandingFolder, type LandingPart } from "../../../src/application/ports/files/LandingFolder.ts"
import { numberFileName } from "../../../src/domain/blobs/fileNames.ts"

/** The name of a part ends so; names of uploads never start with a dot. */
const isPartName = (path: string): boolean => /\/\.\d+\.part$/.test(path)

/** Makes folders that keep uploads in memory, for tests. Folders exist when they are named. */
export const makeMemoryLandingFolder = () => {
  const files = new Map<string, Uint8Array>()
  let freeBytes = Number.POSITIVE_INFINITY
  let opened = 0
  const failed = (message: string) => Effect.fail(new LandingFailed({ message }))

  const makePart = (folder: string, part: string): LandingPart => ({
    append: (bytes) =>
      Effect.suspend(() => {
        const content = files.get(part)
        if (content === undefined) return failed("the part is missing")
        if (bytes.length > freeBytes) return failed("no space is left")
        freeBytes -= bytes.length
        files.set(part, new Uint8Array([...content, ...bytes]))
        return Effect.void
      }),
    finish: (name) =>
      Effect.suspend(() => {
        const content = files.get(part)
        if (content === undefined) return failed("the part is missing")
        let n = 1
        while (files.has(`${folder}/${numberFileName(name, n)}`)) n++
        const path = `${folder}/${numberFileName(name, n)}`
        files.delete(part)
        files.set(path, content)
        return Effect.succeed(path)
      }),
    discard: Effect.sync(() => void files.delete(part))
  })

  const layer = Layer.succeed(LandingFolder, {
    openPart: (folder) =>
      Effect.sync(() => {
        const part = `${folder}/.${opened++}.part`
        files.set(part, new Uint8Array())
        return makePart(folder, part)
      }),
    collectOrphans: (folder) =>
      Effect.sync(() => {
        const orphans = [...files.keys()].filter((path) => path.startsWith(`${folder}/`) && isPartName(path))
        for (const path of orphans) files.delete(path)
        return orphans.length
      })
  })
  return {
    layer,
    /** The contents of all files by path: finished ones, and parts. */
    files,
    /** Sets the free space in bytes; infinite at first. */
    setFreeBytes: (bytes: number): void => void (freeBytes = bytes)
  }
}
