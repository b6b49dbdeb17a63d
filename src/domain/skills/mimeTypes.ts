/** The extensions of each type. Fixed, so that a file has the same type on every host. */
const extensionsByType = {
  "application/gzip": "gz",
  "application/json": "ipynb json",
  "application/pdf": "pdf",
  "application/toml": "toml",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": "pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
  "application/wasm": "wasm",
  "application/x-tar": "tar",
  "application/xml": "xml xsd",
  "application/yaml": "yaml yml",
  "application/zip": "zip",
  "audio/mpeg": "mp3",
  "audio/wav": "wav",
  "font/otf": "otf",
  "font/ttf": "ttf",
  "font/woff": "woff",
  "font/woff2": "woff2",
  "image/bmp": "bmp",
  "image/gif": "gif",
  "image/jpeg": "jpeg jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/vnd.microsoft.icon": "ico",
  "image/webp": "webp",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "htm html",
  "text/javascript": "cjs js jsx mjs",
  "text/markdown": "markdown md",
  "text/plain": "ini jsonl log txt",
  "text/tab-separated-values": "tsv",
  "text/x-c": "c h",
  "text/x-c++": "cpp",
  "text/x-go": "go",
  "text/x-java": "java",
  "text/x-lua": "lua",
  "text/x-php": "php",
  "text/x-powershell": "ps1",
  "text/x-python": "py",
  "text/x-rst": "rst",
  "text/x-ruby": "rb",
  "text/x-rust": "rs",
  "text/x-shellscript": "bash sh",
  "text/x-sql": "sql",
  "text/x-typescript": "ts tsx",
  "video/mp4": "mp4"
}

const typesByExtension = new Map(
  Object.entries(extensionsByType).flatMap(([type, extensions]) =>
    extensions.split(" ").map((extension) => [extension, type])
  )
)

/** The MIME type of a file by the extension of its path, without regard to the host and to the content. */
export const mimeTypeOf = (path: string): string => {
  const extension = /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ""
  return typesByExtension.get(extension) ?? "application/octet-stream"
}

const textType = /^text\/|^application\/(?:json|xml|yaml|toml|javascript)$|\+(?:json|xml|yaml)$/

/** True for MIME types of text. Parameters and case do not matter. */
export const isTextMimeType = (mimeType: string): boolean => textType.test(mimeEssence(mimeType))

/** A MIME type without parameters, in lower case, for comparisons. */
export const mimeEssence = (mimeType: string): string => mimeType.replace(/;.*/s, "").trim().toLowerCase()
