import { asObject, type JsonObject } from "../json.ts"

/** The formats of the fields of a question (MCP, elicitation). In other schemas a format is only an annotation. */
const formats: { readonly [format: string]: (text: string) => boolean } = {
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
  uri: (text) => /^[a-z][a-z0-9+.-]*:\S+$/i.test(text),
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)),
  "date-time": (text) => /^\d{4}-\d\d-\d\d[Tt ]\d/.test(text) && !Number.isNaN(Date.parse(text))
}

/** The reason why the value of a field does not have the format that its question asks for, if it does not. */
export const fieldFormatProblem = ({ format }: JsonObject, value: unknown): string | undefined => {
  if (typeof format !== "string" || typeof value !== "string" || !Object.hasOwn(formats, format)) return undefined
  return formats[format]?.(value) === true ? undefined : `must match format "${format}"`
}

/** The fields of an answer with a wrong format, each with the reason. */
export const answerFormatProblems = (schema: JsonObject, content: JsonObject): ReadonlyArray<string> =>
  Object.entries(asObject(schema["properties"])).flatMap(([name, field]) => {
    const problem = fieldFormatProblem(asObject(field), content[name])
    return problem === undefined ? [] : [`/${name}: ${problem}`]
  })
