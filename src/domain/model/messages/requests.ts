import { Schema } from "effect"
import { JsonObject } from "../../json.ts"
import { Identifier, optionalField } from "../fields.ts"

/** Fields of every request to a Computer (seed 000, `AgentCallData` plus the target). */
export const targetFields = { agent: Identifier, reqId: Identifier, computer: Identifier }

/** A request that states only its target. */
export const TargetRequest = Schema.Struct(targetFields)
export type TargetRequest = typeof TargetRequest.Type

/** The URI at which the Agent fetches a document, and what is known of the document; `size` in bytes. */
export const DocumentLocation = Schema.Struct({
  uri: Schema.String,
  mimeType: optionalField(Schema.String),
  size: optionalField(Schema.Finite),
  name: optionalField(Schema.String),
  description: optionalField(Schema.String),
  annotations: optionalField(JsonObject),
  metadata: optionalField(JsonObject)
})
export type DocumentLocation = typeof DocumentLocation.Type

/** One page of an MCP server's resources, as the server listed them. */
export const ResourcePage = Schema.Struct({
  resources: Schema.Array(JsonObject),
  nextCursor: optionalField(Schema.String)
})
export type ResourcePage = typeof ResourcePage.Type

/** The default and maximum number of documents on a page (spec §11.4). */
export const finderPageSizes = { default: 20, max: 100 }

/** `DPEDocumentSummary`: one document of the catalogue. */
export const DocumentSummary = Schema.Struct({
  docRef: Schema.String,
  uri: Schema.String,
  fileUri: Schema.String,
  fileType: Schema.String,
  title: Schema.String,
  pageCount: Schema.Int,
  keywords: optionalField(Schema.Array(Schema.String)),
  summary: optionalField(Schema.String),
  server: Schema.String,
  lastModified: optionalField(Schema.String)
})
export type DocumentSummary = typeof DocumentSummary.Type

/** The file of a skill that is read by default. */
export const skillMainFile = "SKILL.md"

/** A skill of a Computer. Its name is opaque to Agents. */
export const SkillRef = Schema.Struct({
  name: Schema.String,
  /** `user`, `marketplace:<repository>` or `mcp:<server>`. */
  source: Schema.String,
  /** The absolute folder of the skill on the Computer. */
  path: Schema.String,
  description: Schema.String,
  /** The resource of an MCP server. */
  uri: optionalField(Schema.String),
  license: optionalField(Schema.String),
  compatibility: optionalField(Schema.String),
  allowedTools: optionalField(Schema.Array(Schema.String)),
  /** Members of its front matter without a meaning in the protocol. */
  metadata: optionalField(JsonObject),
  version: optionalField(Schema.String),
  tags: optionalField(Schema.Array(Schema.String))
})
export type SkillRef = typeof SkillRef.Type

/** A file of a skill: its text, or the handle of a blob. Size in bytes, hash in hexadecimal, of exactly the sent bytes. */
export const SkillFile = Schema.Struct({
  name: Schema.String,
  relPath: Schema.String,
  mimeType: Schema.String,
  totalSize: Schema.Natural,
  sha256: Schema.String,
  body: optionalField(Schema.String),
  blobHandle: optionalField(Schema.String)
})
export type SkillFile = typeof SkillFile.Type

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
