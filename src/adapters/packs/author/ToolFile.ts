import { Schema } from "effect"
import type { PackFile } from "../../../application/ports/packs/PackLoader.ts"

/**
 * A file of a call. It is a web `File`, so it works with `FormData` and `fetch`. It is stored on disk until the call
 * ends, and read on demand.
 */
export interface ToolFile extends File, PackFile {
  /** Same as `bytes()`. */
  readonly read: () => Promise<Uint8Array>
}

export const isToolFile = (value: unknown): value is ToolFile =>
  value instanceof File && "filename" in value && "path" in value

/** JSON Schema of a file parameter; equal to `z.file()` of zod. */
export const fileParamSchema = { type: "string", format: "binary" } as const

/**
 * Effect Schema of a file parameter: `Schema.Struct({ file: FileField })`. A list of files is
 * `Schema.Array(FileField)`.
 */
export const FileField: Schema.declare<ToolFile> = Schema.declare(isToolFile, {
  expected: "a file",
  format: fileParamSchema.format,
  toCodecJson: () => undefined // keeps the file as it is, although JSON cannot represent it
})
