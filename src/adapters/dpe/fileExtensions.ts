import { mimeEssence } from "../../domain/documents/DocumentContents.ts"

const office = "application/vnd.openxmlformats-officedocument"

/** Fixed, so a document has the same name on every host. */
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

/** The file extension of a MIME type, without the dot; `bin` when unknown. */
export const extensionOf = (mimeType: string): string => {
  const essence = mimeEssence(mimeType)
  const known = extensions.get(essence)
  if (known !== undefined) return known
  if (essence.endsWith("+json")) return "json"
  if (essence.endsWith("+xml")) return "xml"
  return essence.startsWith("text/") ? "txt" : "bin"
}
