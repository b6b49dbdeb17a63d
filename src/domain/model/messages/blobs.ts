import { Schema } from "effect"
import { BoundedText, fieldWithDefault, Identifier, optionalField } from "../fields.ts"
import { targetFields } from "./requests.ts"

/** A request for a chunk of a blob; offset and size in bytes of the decoded content. */
export const BlobRequest = Schema.Struct({
  ...targetFields,
  blobHandle: BoundedText,
  chunkOffset: fieldWithDefault(Schema.Natural, () => 0),
  maxChunkBytes: optionalField(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))
})
export type BlobRequest = typeof BlobRequest.Type

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

/** A chunk of an upload in base64. The first one has no `uploadId`, and declares size, hash and a hint for the name. */
export const UploadRequest = Schema.Struct({
  ...targetFields,
  uploadId: optionalField(Identifier),
  chunkOffset: Schema.Natural,
  eof: Schema.Boolean,
  blob: Schema.String,
  totalSize: optionalField(Schema.Int),
  sha256: optionalField(BoundedText),
  nameHint: optionalField(BoundedText)
})
export type UploadRequest = typeof UploadRequest.Type

/** The reply to a chunk of an upload. The last one has the path of the file on the Computer, its size and its hash. */
export const UploadReply = Schema.Struct({
  uploadId: Schema.String,
  chunkOffset: Schema.Natural,
  landingPath: optionalField(Schema.String),
  totalSize: optionalField(Schema.Natural),
  sha256: optionalField(Schema.String)
})
export type UploadReply = typeof UploadReply.Type
