import { openAsBlob } from "node:fs"
import { Data, Effect } from "effect"
import type { UploadedFile } from "../../../application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type ParamsProblem, type PackRoute, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import type { ToolFile } from "../author/ToolFile.ts"

export class FileUnavailable extends Data.TaggedError("FileUnavailable")<{ readonly message: string }> {}

const openToolFile = ({ contentType, filename, path }: UploadedFile): Effect.Effect<ToolFile, FileUnavailable> =>
  Effect.tryPromise({
    try: async () => {
      const file = new File([await openAsBlob(path)], filename, { type: contentType })
      return Object.assign(file, { filename, contentType, path, read: () => file.bytes() })
    },
    catch: () => new FileUnavailable({ message: `the file ${filename} no longer exists` })
  })

/** Finds surplus files, and texts in the place of files. */
export const checkFileParams = (
  fileParams: PackRoute["files"],
  args: JsonObject,
  files: { readonly [name: string]: ReadonlyArray<UploadedFile> }
): ReadonlyArray<ParamsProblem> =>
  Object.entries(fileParams).flatMap(([name, { multiple }]) => {
    const count = files[name]?.length ?? 0
    if (!multiple && count > 1) return [paramsProblem(`one file is expected, not ${count}`, [name])]
    return count === 0 && typeof args[name] === "string"
      ? [paramsProblem("a file is expected, not a text", [name])]
      : []
  })

/** Opens the files of a call by parameter; files without a parameter are ignored. */
export const openToolFiles = (
  fileParams: PackRoute["files"],
  files: { readonly [name: string]: ReadonlyArray<UploadedFile> }
): Effect.Effect<{ readonly [name: string]: unknown }, FileUnavailable> =>
  Effect.map(
    Effect.forEach(
      Object.entries(fileParams).filter(([name]) => (files[name]?.length ?? 0) > 0),
      ([name, { multiple }]) =>
        Effect.map(
          Effect.forEach(files[name] ?? [], openToolFile),
          (opened) => [name, multiple ? opened : opened[0]] as const
        )
    ),
    Object.fromEntries
  )
