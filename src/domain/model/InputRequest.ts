import { Result } from "effect"
import { asObject, asString, isJsonObject, type JsonObject } from "../json.ts"
import { isSecretField } from "../schemas/jsonSchema.ts"
import { withoutRoundedIntegers } from "../schemas/roundedIntegers.ts"
import { parseUri } from "../uri.ts"

/** A question of an MCP server to the user of a call: elicitation. All texts are foreign. */
export type InputRequest =
  /** A form of the fields of `schema`, a flat JSON Schema of an object. */
  | { readonly mode: "form"; readonly message: string; readonly schema: JsonObject }
  /** A page that the user opens. Its content never passes the office. */
  | { readonly mode: "url"; readonly message: string; readonly url: string }

export const inputModes: ReadonlyArray<InputRequest["mode"]> = ["form", "url"]

/** The answer of the user. */
export type InputAnswer =
  | { readonly action: "accept"; readonly content?: JsonObject }
  | { readonly action: "decline" }
  /** The user closed the question without an answer. */
  | { readonly action: "cancel" }

/** In UTF-16 units; longer messages are cut. */
const maxMessageLength = 4096

/** In characters of its JSON text. */
const maxSchemaLength = 64 * 1024

const maxUrlLength = 8192

const isWebUrl = (url: string) => url.length <= maxUrlLength && Result.isSuccess(parseUri(url)) && /^https?:/i.test(url)

/** Parses the parameters of `elicitation/create`; fails with the error in one line. */
export const parseInputRequest = (params: JsonObject): Result.Result<InputRequest, string> => {
  const message = (asString(params["message"]) ?? "").slice(0, maxMessageLength).toWellFormed()
  if (params["mode"] === "url") {
    const url = asString(params["url"])
    return url !== undefined && isWebUrl(url)
      ? Result.succeed({ mode: "url", message, url })
      : Result.fail("url: expected an http or https URL")
  }
  const { requestedSchema: schema } = params
  if (!isJsonObject(schema)) return Result.fail("requestedSchema: expected an object")
  if (JSON.stringify(schema).length > maxSchemaLength) {
    return Result.fail(`requestedSchema: exceeds ${maxSchemaLength} characters`)
  }
  return Result.succeed({ mode: "form", message, schema })
}

/** Leaves out what has rounded integers in the schema of a form, and names it by JSON pointers. */
export const toExactRequest = (
  request: InputRequest
): { readonly request: InputRequest; readonly places: ReadonlyArray<string> } => {
  if (request.mode === "url") return { request, places: [] }
  const { places, value: schema } = withoutRoundedIntegers(request.schema)
  return { request: { ...request, schema }, places }
}

/** The values of secret fields, as texts. */
export const secretAnswers = (request: InputRequest, answer: InputAnswer): ReadonlyArray<string> => {
  if (request.mode !== "form" || answer.action !== "accept") return []
  const properties = asObject(request.schema["properties"])
  return Object.entries(answer.content ?? {}).flatMap(([name, value]) =>
    isSecretField(Object.hasOwn(properties, name) ? properties[name] : undefined) ? [String(value)] : []
  )
}
