import type { PageReplies } from "../../../domain/page/PageCommand.ts"
import { isTextMimeType, mimeTypeOf } from "../../../domain/skills/mimeTypes.ts"
import { decodeUtf8Lossy } from "../../../domain/utf8.ts"

/** Larger documents, in bytes, are not fetched. */
export const maxDocumentBytes = 4 * 1024 * 1024

/** Characters of a text that a page shows. */
export const maxPreviewLength = 256 * 1024

/** The beginning of a document as the page shows it. Documents that are not text have an empty text. */
export const toPreview = (
  uri: string,
  { bytes, mimeType = mimeTypeOf(uri) }: { readonly bytes: Uint8Array; readonly mimeType?: string | undefined }
): PageReplies["GetDocument"] => {
  if (!isTextMimeType(mimeType)) return { mimeType, text: "", isTruncated: false }
  const text = decodeUtf8Lossy(bytes)
  const isTruncated = text.length > maxPreviewLength
  return { mimeType, text: isTruncated ? text.slice(0, maxPreviewLength).toWellFormed() : text, isTruncated }
}
