import { Data, Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { asString, isJsonObject, type JsonObject, parseJsonOrThrow } from "../json.ts"
import { optionalField, BoundedText } from "../model/fields.ts"
import { mimeEssence } from "../skills/mimeTypes.ts"

/** The body is the document itself, or its location, as JSON (spec §10.4). */
export const documentMimeTypes = {
  inline: "application/vnd.a2c.dpe-inline+json",
  external: "application/vnd.a2c.dpe-uri+json"
} as const

/** The parsed contents of a document resource; `size` in bytes. */
export type DocumentContents =
  | { readonly kind: "external"; readonly uri: string; readonly mimeType?: string; readonly size?: number }
  | { readonly kind: "text"; readonly mimeType: string; readonly text: string }
  | { readonly kind: "bytes"; readonly mimeType: string; readonly bytes: Uint8Array }

/** Unusable contents of a document resource. The reason never repeats the contents. */
export class InvalidDocumentContents extends Data.TaggedError("InvalidDocumentContents")<{ readonly reason: string }> {
  override get message(): string {
    return `Invalid document contents: ${this.reason}`
  }
}

const mimeToken = "[A-Za-z0-9!#$&^_.+-]{1,127}"

/** A MIME type that is safe in a header: two tokens, and parameters in printable ASCII. */
const mimeTypePattern = new RegExp(`^${mimeToken}/${mimeToken}(?: {0,8};[\\x20-\\x7e]{0,255})?$`)

/** Removes the charset: our texts are always encoded as UTF-8. */
const stripCharset = (mimeType: string): string => mimeType.replace(/\s*;\s*charset\s*=\s*(?:"[^"]*"|[^;]*)/gi, "")

const mimeTypeOf = (content: JsonObject, listed: string | undefined): string | undefined =>
  [content["mimeType"], listed].map(asString).find((given) => given !== undefined && mimeTypePattern.test(given))

const decodeBytes = Schema.decodeUnknownResult(Schema.Uint8ArrayFromBase64)
const decodeText = Schema.decodeUnknownResult(Schema.StringFromBase64)
const notBase64 = () => "the blob is not base64"

const hasBody = ({ blob, text }: JsonObject): boolean => typeof text === "string" || typeof blob === "string"

/** The body of a content as text. A server may send JSON as a blob. */
const bodyText = ({ blob, text }: JsonObject): Result.Result<string, string> =>
  typeof text === "string" ? Result.succeed(text) : Result.mapError(decodeText(blob), notBase64)

const bodyJson = (content: JsonObject): Result.Result<unknown, string> =>
  Result.flatMap(bodyText(content), (text) =>
    Result.try({ try: () => parseJsonOrThrow(text), catch: () => "the body is not JSON" })
  )

const decodeLocation = makeDecoder(
  Schema.Struct({
    uri: BoundedText,
    mimeType: optionalField(Schema.String),
    size: optionalField(Schema.Natural)
  }).pipe(Schema.encodeKeys({ mimeType: "mime_type" }))
)

/** Agents cannot fetch these: `dpe` refers to this Computer, `data` would carry the contents through the office. */
const unfetchableSchemes = ["dpe", "data"]

const parseExternal = (content: JsonObject): Result.Result<DocumentContents, string> =>
  bodyJson(content).pipe(
    Result.flatMap(decodeLocation),
    Result.mapError((error) => `invalid external location: ${error}`),
    Result.flatMap((location) => {
      const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):[^\s\p{Cc}]+$/u.exec(location.uri)?.[1]
      if (scheme === undefined) return Result.fail("the external location is an invalid URI")
      return unfetchableSchemes.includes(scheme.toLowerCase())
        ? Result.fail(`Agents cannot fetch the scheme ${scheme}`)
        : Result.succeed({ kind: "external", ...location })
    })
  )

const parseInline = (content: JsonObject): Result.Result<DocumentContents, string> =>
  Result.flatMap(bodyJson(content), (body) =>
    isJsonObject(body)
      ? Result.map(bodyText(content), (text) => ({ kind: "text", mimeType: "application/json", text }))
      : Result.fail("the body is not a JSON object")
  )

const parseSingle = (content: JsonObject, listed: string | undefined): Result.Result<DocumentContents, string> => {
  if (!hasBody(content)) return Result.fail("text or blob is required")
  const mimeType = mimeTypeOf(content, listed)
  const essence = mimeEssence(mimeType ?? "")
  if (essence === documentMimeTypes.external) return parseExternal(content)
  if (essence === documentMimeTypes.inline) return parseInline(content)
  const { blob, text } = content
  if (typeof text === "string") {
    return Result.succeed({ kind: "text", mimeType: stripCharset(mimeType ?? "text/plain"), text })
  }
  return Result.mapBoth(decodeBytes(blob), {
    onFailure: notBase64,
    onSuccess: (bytes) => ({ kind: "bytes", mimeType: mimeType ?? "application/octet-stream", bytes })
  })
}

const combineContents = (contents: ReadonlyArray<JsonObject>): Result.Result<DocumentContents, string> => {
  for (const [index, content] of contents.entries()) {
    const position = `content ${index + 1} of ${contents.length}`
    if (!hasBody(content)) return Result.fail(`${position}: text or blob is required`)
    if (mimeEssence(mimeTypeOf(content, undefined) ?? "") === documentMimeTypes.external) {
      return Result.fail(`${position}: an external location must be the only content`)
    }
  }
  return Result.try({
    try: () => ({ kind: "text", mimeType: "application/json", text: JSON.stringify(contents) }) as const,
    catch: () => "the contents cannot be encoded as JSON"
  })
}

/**
 * Parses the contents of a document resource:
 * - one text or blob: itself; the MIME type defaults to the listed one, else to `text/plain` or
 *   `application/octet-stream`
 * - one of {@link documentMimeTypes}`.inline`: its body as `application/json`
 * - one of {@link documentMimeTypes}`.external`: the location of the document
 * - several: a JSON array of the contents, with blobs in base64
 */
export const parseDocumentContents = (
  contents: ReadonlyArray<JsonObject>,
  listedMimeType?: string
): Result.Result<DocumentContents, InvalidDocumentContents> => {
  const [first, ...others] = contents
  if (first === undefined) return Result.fail(new InvalidDocumentContents({ reason: "no contents" }))
  const parsed = others.length === 0 ? parseSingle(first, listedMimeType) : combineContents(contents)
  return Result.mapError(parsed, (reason) => new InvalidDocumentContents({ reason }))
}
