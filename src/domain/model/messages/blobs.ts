import { Schema } from "effect"
import { optionalField } from "../fields.ts"

/** A chunk of a blob in base64. Size and hash are those of the whole content. */
export const BlobChunk = Schema.Struct({
  blobHandle: Schema.String,
  mimeType: Schema.String,
  totalSize: Schema.Natural,
  sha256: Schema.String,
  chunkOffset: Schema.Natural,
  eof: Schema.Boolean,
  blob: Schema.String
})
export type BlobChunk = typeof BlobChunk.Type

/** The reply to a chunk of an upload. The last one has the path of the file on the Computer, its size and its hash. */
export const UploadReply = Schema.Struct({
  uploadId: Schema.String,
  chunkOffset: Schema.Natural,
  landingPath: optionalField(Schema.String),
  totalSize: optionalField(Schema.Natural),
  sha256: optionalField(Schema.String)
})
export type UploadReply = typeof UploadReply.Type
