import { Schema } from "effect"

/**
 * A file that came with a call. It is a `File` of the web, so it can be put into a `FormData` or a `fetch`; it lies on
 * disk and is read when asked for. It is there until the call has ended.
 */
export interface ToolFile extends File {
  /** The name it was sent with, without a folder. */
  readonly filename: string
  /** What the sender calls its kind, such as `text/plain`; `application/octet-stream` when it says nothing. */
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  /** Where it lies, by absolute path. */
  readonly path: string
  /** All of it; the same as `bytes()`. */
  readonly read: () => Promise<Uint8Array>
}

/** True for a file that came with a call. */
export const isToolFile = (value: unknown): value is ToolFile =>
  value instanceof File && "filename" in value && "path" in value

/** A parameter that is a file, in JSON Schema. Of zod, `z.file()` says the same. */
export const fileParamSchema = { type: "string", format: "binary" } as const

/**
 * A parameter that is a file, as an Effect Schema: `Schema.Struct({ file: FileField })`. A list of files is
 * `Schema.Array(FileField)`.
 */
export const FileField: Schema.declare<ToolFile> = Schema.declare(isToolFile, {
  expected: "a file",
  format: fileParamSchema.format,
  toCodecJson: () => undefined // it passes through as it is, although JSON could not carry it
})
