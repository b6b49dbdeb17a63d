import { mimeEssence } from "../../domain/documents/DocumentContents.ts"

const office = "application/vnd.openxmlformats-officedocument"

/** Ours and not the host's registry, so that a document has the same name everywhere. */
const extensions: ReadonlyMap<string, string> = new Map([
  ["application/json", "json"],
  ["application/msword", "doc"],
  ["application/pdf", "pdf"],
  ["application/rtf", "rtf"],
  ["application/xml", "xml"],
  ["application/yaml", "yaml"],
  ["application/zip", "zip"],
  [`${office}.presentationml.presentation`, "pptx"],
  [`${office}.spreadsheetml.sheet`, "xlsx"],
  [`${office}.wordprocessingml.document`, "docx"],
  ["audio/mpeg", "mp3"],
  ["audio/wav", "wav"],
  ["image/gif", "gif"],
  ["image/jpeg", "jpg"],
  ["image/png", "png"],
  ["image/svg+xml", "svg"],
  ["image/webp", "webp"],
  ["text/css", "css"],
  ["text/csv", "csv"],
  ["text/html", "html"],
  ["text/markdown", "md"],
  ["text/xml", "xml"],
  ["text/yaml", "yaml"],
  ["video/mp4", "mp4"]
])

/** The extension of a file of this mime type, without the dot: lower-case letters and digits; `bin` when unknown. */
export const extensionOf = (mimeType: string): string => {
  const essence = mimeEssence(mimeType)
  const known = extensions.get(essence)
  if (known !== undefined) return known
  if (essence.endsWith("+json")) return "json"
  if (essence.endsWith("+xml")) return "xml"
  return essence.startsWith("text/") ? "txt" : "bin"
}
