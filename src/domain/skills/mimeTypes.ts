/** The MIME type of files with an unknown extension. */
const binaryMimeType = "application/octet-stream"

/** Fixed, so that a file has the same type on every host. */
const typesByExtension: ReadonlyMap<string, string> = new Map([
  ["bash", "text/x-shellscript"],
  ["bmp", "image/bmp"],
  ["c", "text/x-c"],
  ["cjs", "text/javascript"],
  ["cpp", "text/x-c++"],
  ["css", "text/css"],
  ["csv", "text/csv"],
  ["docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"],
  ["gif", "image/gif"],
  ["go", "text/x-go"],
  ["gz", "application/gzip"],
  ["h", "text/x-c"],
  ["htm", "text/html"],
  ["html", "text/html"],
  ["ico", "image/vnd.microsoft.icon"],
  ["ini", "text/plain"],
  ["ipynb", "application/json"],
  ["java", "text/x-java"],
  ["jpeg", "image/jpeg"],
  ["jpg", "image/jpeg"],
  ["js", "text/javascript"],
  ["json", "application/json"],
  ["jsonl", "text/plain"],
  ["jsx", "text/javascript"],
  ["log", "text/plain"],
  ["lua", "text/x-lua"],
  ["markdown", "text/markdown"],
  ["md", "text/markdown"],
  ["mjs", "text/javascript"],
  ["mp3", "audio/mpeg"],
  ["mp4", "video/mp4"],
  ["otf", "font/otf"],
  ["pdf", "application/pdf"],
  ["php", "text/x-php"],
  ["png", "image/png"],
  ["pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"],
  ["ps1", "text/x-powershell"],
  ["py", "text/x-python"],
  ["rb", "text/x-ruby"],
  ["rs", "text/x-rust"],
  ["rst", "text/x-rst"],
  ["sh", "text/x-shellscript"],
  ["sql", "text/x-sql"],
  ["svg", "image/svg+xml"],
  ["tar", "application/x-tar"],
  ["toml", "application/toml"],
  ["ts", "text/x-typescript"],
  ["tsv", "text/tab-separated-values"],
  ["tsx", "text/x-typescript"],
  ["ttf", "font/ttf"],
  ["txt", "text/plain"],
  ["wasm", "application/wasm"],
  ["wav", "audio/wav"],
  ["webp", "image/webp"],
  ["woff", "font/woff"],
  ["woff2", "font/woff2"],
  ["xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["xml", "application/xml"],
  ["xsd", "application/xml"],
  ["yaml", "application/yaml"],
  ["yml", "application/yaml"],
  ["zip", "application/zip"]
])

/** The MIME type of a file by the extension of its path, without regard to the host and to the content. */
export const mimeTypeOf = (path: string): string => {
  const extension = /[^/]\.([^./]+)$/.exec(path)?.[1]?.toLowerCase()
  return (extension === undefined ? undefined : typesByExtension.get(extension)) ?? binaryMimeType
}

const textTypes: ReadonlySet<string> = new Set([
  "application/json",
  "application/xml",
  "application/yaml",
  "application/toml",
  "application/javascript"
])

/** True for MIME types of text. Parameters and case do not matter. */
export const isTextMimeType = (mimeType: string): boolean => {
  const essence = (mimeType.split(";", 1)[0] ?? "").trim().toLowerCase()
  return essence.startsWith("text/") || textTypes.has(essence) || /\+(?:json|xml|yaml)$/.test(essence)
}
