import { open } from "node:fs/promises"
import { extname, join } from "node:path"
import type { IncomingMessage } from "node:http"
import { Cause, Effect, Option, Result, type Scope, Stream } from "effect"
import { Multipart } from "effect/http"
import { parse, type ParseError } from "jsonc-parser"
import type { PackFile } from "../../../application/ports/packs/PackLoader.ts"
import type { PackRoute } from "../../../domain/packs/PackManifest.ts"
import { makeTemporaryFolder } from "../execution/toolFiles.ts"
import { ClientDisconnected, limitedBody, type PendingRequest } from "../../http/messages.ts"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { reject, rejectParams, RequestRejected } from "./reply.ts"
import { checkJsonBody, isJsonObject, parseJsonOrThrow } from "../../../domain/json.ts"
import { decodeUtf8 } from "../../../domain/utf8.ts"

/** Parses a media type and its charset, in lower case; JSON without a header. */
export const parseContentType = ({ headers }: IncomingMessage) => {
  const text = headers["content-type"]?.trim().toLowerCase() || "application/json"
  const [, charset] = /;\s*charset="?([^\s";]+)/.exec(text) ?? []
  const [name = ""] = text.split(";")
  return { name: name.trim(), charset }
}

/** Streams a body; fails with 413 above `maxBytes`. */
const bodyStream = (body: PendingRequest, maxBytes: number) =>
  limitedBody(body, maxBytes, reject(413, `The body exceeds the limit of ${maxBytes} bytes`))

/** Offset of the first invalid character, from the message of Node's parser, or from a second parser. */
const jsonErrorOffset = (text: string, message: string): number => {
  const [, reported] = /at position (\d+)/.exec(message) ?? []
  if (reported !== undefined) return Number(reported)
  if (message.includes("end of JSON input")) return text.length
  const errors: Array<ParseError> = []
  // The second parser recurses and overflows the stack on deep nesting.
  const parsed = Result.try(() => parse(text, errors, { disallowComments: true, allowTrailingComma: false }))
  return Result.isFailure(parsed) ? 0 : (errors[0]?.offset ?? 0)
}

const parseRequestJson = (text: string): Effect.Effect<unknown, RequestRejected> =>
  Effect.try({
    try: () => parseJsonOrThrow(text),
    catch: (error) => rejectParams("JSON decode error", [jsonErrorOffset(text, errorMessage(error))], "json_invalid")
  })

/** Checks that parameters are an object that tools can receive; fails with 422. */
const checkParams = Effect.fnUntraced(function* (value: unknown) {
  if (!isJsonObject(value)) return yield* rejectParams("The parameters must be an object", [], "model_attributes_type")
  const error = checkJsonBody(value)
  return error === undefined ? value : yield* rejectParams(`The parameters are invalid: ${error}`)
})

const readText = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const chunks = yield* Stream.runCollect(bodyStream(body, maxBytes))
  const text = decodeUtf8(Buffer.concat(chunks))
  return Option.isSome(text) ? text.value : yield* rejectParams("The body is not UTF-8")
})

export const readJson = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const text = yield* readText(body, maxBytes)
  if (text === "") return yield* rejectParams("The body is missing", [], "missing")
  return { params: yield* checkParams(yield* parseRequestJson(text)), files: {}, form: false }
})

interface FormLimits {
  readonly maxFileBytes: number
  readonly maxFormBytes: number
  /** Parent of the temporary folder. */
  readonly uploadFolder: string | undefined
}

const maxFiles = 16

const maxFields = 256

/** Fields are held in memory. */
const maxFieldBytes = 1024 * 1024

/** In characters. */
const maxTextLength = 8 * 1024 * 1024

/** The parser counts the headers of a part as part of a file. */
const partHeaderBytes = 64 * 1024

const parserLimits = (maxFileBytes: number) =>
  Multipart.limitsServices({
    maxParts: maxFiles + maxFields,
    maxFieldSize: maxFieldBytes,
    maxFileSize: maxFileBytes + partHeaderBytes,
    // A JSON part with a file name is a file.
    fieldMimeTypes: []
  })

const tooManyParts = (what: string, max: number) => reject(413, `The form exceeds the limit of ${max} ${what}`)

/** Keeps the last segment of a client's path, without control characters. */
const safeFilename = (given: string): string => {
  // oxlint-disable-next-line no-control-regex -- control characters are what is meant
  const name = (given.split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "")
  return name === "" || name === "." || name === ".." ? "file" : name
}

/** Only the extension of the client's name is used on disk. */
const fileExtension = (name: string): string => {
  const extension = extname(name)
  return /^\.[a-z0-9]{1,10}$/i.test(extension) ? extension : ""
}

/**
 * True for a part without a file name. An empty one is a file input without a selection: browsers send `filename=""`, Node
 * sends no file name, where the parser gives the name of the input.
 */
const isUnnamed = ({ contentType, key, name }: Multipart.File): boolean =>
  name === "" || (name === key && contentType === "application/octet-stream")

/** Streams a file to disk and returns its size in bytes. */
const writeUpload = Effect.fnUntraced(function* (path: string, { content, name }: Multipart.File, maxBytes: number) {
  const handle = yield* Effect.acquireRelease(
    Effect.promise(() => open(path, "wx", 0o600)),
    (opened) => Effect.promise(() => opened.close())
  )
  let size = 0
  yield* Stream.runForEach(failOnParserDefect(content), (chunk) => {
    size += chunk.byteLength
    return size > maxBytes
      ? Effect.fail(reject(413, `The file '${safeFilename(name)}' exceeds the limit of ${maxBytes} bytes`))
      : Effect.promise(() => handle.writeFile(chunk))
  })
  return size
}, Effect.scoped)

const unnamedPart = reject(400, "The form cannot be read: a part has no name")

const malformedForm = reject(400, "The form cannot be read: it is malformed, incomplete, or has no boundary")

/** Converts a parser error to a rejection; errors of the body stream pass through. */
const toRejection = (error: Multipart.MultipartError | RequestRejected | ClientDisconnected, maxFileBytes: number) => {
  if (error._tag !== "MultipartError") return Effect.fail(error)
  const { _tag, cause } = error.reason
  if (_tag === "InternalError") {
    const isOfBody = cause instanceof RequestRejected || cause instanceof ClientDisconnected
    return isOfBody ? Effect.fail(cause) : Effect.die(error)
  }
  const rejections = {
    TooManyParts: tooManyParts("parts", maxFiles + maxFields),
    FieldTooLarge: reject(413, `A field of the form exceeds the limit of ${maxFieldBytes} bytes`),
    FileTooLarge: reject(413, `A file of the form exceeds the limit of ${maxFileBytes} bytes`),
    BodyTooLarge: reject(413, "The form is too large"),
    Parse: malformedForm
  }
  return Effect.fail(rejections[_tag])
}

/** The parser throws on a part whose headers never end: the client's error. */
const failOnParserDefect = <A, E>(stream: Stream.Stream<A, E>): Stream.Stream<A, E | RequestRejected> =>
  Stream.catchCause(
    stream,
    (cause): Stream.Stream<never, E | RequestRejected> =>
      Cause.hasDies(cause) ? Stream.fail(malformedForm) : Stream.failCause(cause)
  )

/** Collects texts by name; a repeated name makes a list. */
const collectParams = (fields: Iterable<readonly [string, string]>) => {
  const groups = Array.from(
    Map.groupBy(fields, ([name]) => name),
    ([name, group]) => {
      const texts = group.map(([, text]) => text)
      return [name, texts.length === 1 ? texts[0] : texts]
    }
  )
  return checkParams(Object.fromEntries(groups))
}

/**
 * Reads a form with files. Streams them to a temporary folder until the scope closes. The first exceeded limit rejects
 * the form (413) and stops reading.
 */
export const readMultipart = Effect.fnUntraced(function* (
  pendingRequest: PendingRequest,
  { files: fileParams }: PackRoute,
  { maxFileBytes, maxFormBytes, uploadFolder }: FormLimits
) {
  const body = bodyStream(pendingRequest, maxFormBytes)
  const headers = { "content-type": pendingRequest.request.headers["content-type"] ?? "" }
  const fields: Array<readonly [string, string]> = []
  const files = new Map<string, Array<PackFile>>()
  let folder: string | undefined
  let count = 0
  let textLength = 0

  const addField = ({ key, value }: Multipart.Field) => {
    if (key === "") return unnamedPart
    if (fields.length >= maxFields) return tooManyParts("fields", maxFields)
    textLength += value.length
    if (textLength > maxTextLength)
      return reject(413, `The fields of the form exceed the limit of ${maxTextLength} characters`)
    fields.push([key, value])
    return Effect.void
  }
  const addFile = Effect.fnUntraced(function* (file: Multipart.File) {
    if (file.key === "") return yield* unnamedPart
    const param = Object.hasOwn(fileParams, file.key) ? fileParams[file.key] : undefined
    const before = files.get(file.key) ?? []
    if (param === undefined) return yield* rejectParams("The tool has no file parameter of this name", [file.key])
    if (!param.multiple && before.length > 0) return yield* rejectParams("The tool accepts one file here", [file.key])
    if (count >= maxFiles) return yield* tooManyParts("files", maxFiles)
    folder ??= yield* makeTemporaryFolder("a2c-upload-", uploadFolder)
    const filename = safeFilename(file.name)
    const path = join(folder, `${count++}${fileExtension(filename)}`)
    const size = yield* writeUpload(path, file, maxFileBytes)
    if (size === 0 && isUnnamed(file)) return
    files.set(file.key, [...before, { filename, contentType: file.contentType, size, path }])
  })

  const parts = Stream.pipeThroughChannel(body, Multipart.makeChannel<ClientDisconnected | RequestRejected>(headers))
  yield* Stream.runForEach(
    failOnParserDefect(parts),
    (part): Effect.Effect<void, Multipart.MultipartError | RequestRejected | ClientDisconnected, Scope.Scope> =>
      part._tag === "Field" ? addField(part) : addFile(part)
  ).pipe(
    Effect.provideContext(parserLimits(maxFileBytes)),
    Effect.catch((error) => toRejection(error, maxFileBytes))
  )
  // Bytes after the last part are ignored, but the next request follows them on the connection.
  yield* Stream.runDrain(body)
  return { params: yield* collectParams(fields), files: Object.fromEntries(files), form: true }
})

/** Reads a form without files. */
export const readUrlEncoded = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const fields = [...new URLSearchParams(yield* readText(body, maxBytes))]
  if (fields.length > maxFields) return yield* tooManyParts("fields", maxFields)
  return { params: yield* collectParams(fields), files: {}, form: true }
})
