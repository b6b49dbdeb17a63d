import { Result } from "effect"
import { asObject, isJsonObject, type JsonObject } from "../../json.ts"
import { type FileParams, fileParamsOf } from "../../schemas/jsonSchema.ts"

/** A file inside the arguments of a call: MCP has no attachments. */
export interface EmbeddedFile {
  readonly filename: string
  readonly contentType: string
  readonly data: string
  readonly encoding: "base64" | "percent"
}

const defaults = { filename: "file", contentType: "application/octet-stream" }

const dataUrlPattern = /^data:([^,;]*)((?:;[^,;]*)*),/

/** The padding is matched separately, because a lazier pattern backtracks on long white space. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_\s-]*(?:={1,2}\s*)?$/.test(text)

/** Value of a data URL parameter, such as `notes.txt` in `;name=notes.txt`. */
const dataUrlParameter = (words: ReadonlyArray<string>, name: string): string | undefined => {
  const word = words.find((one) => one.startsWith(`${name}=`))
  return word === undefined
    ? undefined
    : Result.getOrUndefined(Result.try(() => decodeURIComponent(word.slice(name.length + 1))))
}

const parseDataUrl = (text: string): Result.Result<EmbeddedFile, string> => {
  const [head = "", type = "", rest = ""] = dataUrlPattern.exec(text) ?? []
  if (head === "") return Result.fail("a file is expected: a data URL, or {filename, contentType, data}")
  const words = rest.split(";")
  const data = text.slice(head.length)
  const encoding = words.includes("base64") ? "base64" : "percent"
  return encoding === "base64" && !isBase64(data)
    ? Result.fail("the data URL is not valid base64")
    : Result.succeed({
        filename: dataUrlParameter(words, "name") ?? dataUrlParameter(words, "filename") ?? defaults.filename,
        contentType: type || defaults.contentType,
        data,
        encoding
      })
}

/** Parses a data URL, or `{filename, contentType, data}` with base64 data. */
export const parseEmbeddedFile = (value: unknown): Result.Result<EmbeddedFile, string> => {
  if (typeof value === "string") return parseDataUrl(value)
  if (!isJsonObject(value)) return parseDataUrl("")
  const { contentType, data, filename } = value
  if (typeof data !== "string" || !isBase64(data)) return Result.fail("its data is not valid base64")
  return Result.succeed({
    filename: typeof filename === "string" ? filename : defaults.filename,
    contentType: typeof contentType === "string" ? contentType : defaults.contentType,
    data,
    encoding: "base64"
  })
}

const embeddedFileSchema: JsonObject = {
  anyOf: [
    { type: "string", pattern: "^data:", description: "A data URL: data:text/plain;name=notes.txt;base64,…" },
    {
      type: "object",
      properties: {
        filename: { type: "string" },
        contentType: { type: "string" },
        data: { type: "string", contentEncoding: "base64" }
      },
      required: ["data"]
    }
  ]
}

/** Replaces the file parameters of a schema by another schema of a file; their descriptions stay. */
export const replaceFileParams = (schema: JsonObject, files: FileParams, file: JsonObject): JsonObject => {
  if (Object.keys(files).length === 0) return schema
  const properties = asObject(schema["properties"])
  const replaced = Object.entries(files).map(([name, { multiple }]) => {
    const { description } = asObject(Object.hasOwn(properties, name) ? properties[name] : undefined)
    const type = multiple ? { type: "array", items: file } : file
    return [name, { ...(typeof description === "string" && { description }), ...type }] as const
  })
  return { ...schema, properties: { ...properties, ...Object.fromEntries(replaced) } }
}

/** Replaces file parameters in a schema by embedded files, for clients without uploads. */
export const embedFileParams = (schema: JsonObject): JsonObject => {
  const properties = asObject(schema["properties"])
  const own = Object.entries(fileParamsOf(schema)).filter(([name]) => Object.hasOwn(properties, name))
  return replaceFileParams(schema, Object.fromEntries(own), embeddedFileSchema)
}
