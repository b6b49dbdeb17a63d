import { Result, Schema } from "effect"

/** What a blob handle stands for: content that a tool returned, or a file of a skill. */
export const BlobReference = Schema.Union([
  Schema.Struct({ channel: Schema.Literal("result"), computer: Schema.String, id: Schema.String }),
  Schema.Struct({
    channel: Schema.Literal("skill"),
    computer: Schema.String,
    name: Schema.String,
    relPath: Schema.String
  })
])
export type BlobReference = typeof BlobReference.Type

const BlobHandle = Schema.StringFromBase64Url.pipe(Schema.decodeTo(Schema.fromJsonString(BlobReference)))

/** Formats a handle. It is opaque to Agents, and grants nothing: the Computer checks every request. */
export const formatBlobHandle: (reference: BlobReference) => string = Schema.encodeSync(BlobHandle)

const decodeHandle = Schema.decodeUnknownResult(BlobHandle)

/** Parses a handle of this project; `undefined` for any other text. */
export const parseBlobHandle = (handle: string): BlobReference | undefined =>
  Result.getOrUndefined(decodeHandle(handle))
