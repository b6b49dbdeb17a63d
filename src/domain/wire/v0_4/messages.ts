import { Schema } from "effect"
import { UploadReply, UploadRequest } from "../../model/messages/blobs.ts"

const uploadKeys = {
  uploadId: "upload_id",
  chunkOffset: "chunk_offset",
  totalSize: "total_size",
  reqId: "req_id"
} as const

export const PutBlobReq = UploadRequest.pipe(Schema.encodeKeys({ ...uploadKeys, nameHint: "name_hint" }))

export const PutBlobRet = Schema.Struct({ ...UploadReply.fields, reqId: Schema.String }).pipe(
  Schema.encodeKeys({ ...uploadKeys, landingPath: "landing_path" })
)
