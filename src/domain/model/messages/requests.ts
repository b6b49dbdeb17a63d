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
