import { Result } from "effect"
import { isJsonObject, type JsonObject } from "../../json.ts"
import { fileParamsOf } from "./jsonSchema.ts"

/** A file that stands in the arguments of a call, since MCP sends none beside them. */
export interface EmbeddedFile {
  readonly filename: string
  readonly contentType: string
  /** Its contents: base64, or text whose bytes are written as `%41`. */
  readonly data: string
  readonly encoding: "base64" | "percent"
}

/** What a sender that says nothing means. */
const defaults = { filename: "file", contentType: "application/octet-stream" }

const dataUrlPattern = /^data:([^,;]*)((?:;[^,;]*)*),/

/** Only what follows a padding is looked at twice: of much white space every other way would be tried. */
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/_\s-]*(?:={1,2}\s*)?$/.test(text)

/** The value of a parameter of a data URL, as `notes.txt` in `;name=notes.txt`. */
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

/** Reads a file in the arguments of a call: a data URL, or `{filename, contentType, data}` with data in base64. */
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
    {
      type: "string",
      pattern: "^data:",
      description: "A data URL: data:text/plain;name=notes.txt;base64,…"
    },
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

/** The schema of a tool's parameters for those who can send no files beside them. */
export const embedFileParams = (schema: JsonObject): JsonObject => {
  const files = fileParamsOf(schema)
  const { properties } = schema
  if (!isJsonObject(properties) || Object.keys(files).length === 0) return schema
  const entries = Object.entries(properties).map(([name, given]) => {
    const file = Object.hasOwn(files, name) ? files[name] : undefined
    if (file === undefined) return [name, given] as const
    const description = isJsonObject(given) ? given["description"] : undefined
    return [
      name,
      {
        ...(typeof description === "string" && { description }),
        ...(file.multiple ? { type: "array", items: embeddedFileSchema } : embeddedFileSchema)
      }
    ] as const
  })
  return { ...schema, properties: Object.fromEntries(entries) }
}
