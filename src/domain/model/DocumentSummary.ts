import { Schema } from "effect"
import { optionalField } from "./fields.ts"

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
