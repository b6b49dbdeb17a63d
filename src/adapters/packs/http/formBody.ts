import { open } from "node:fs/promises"
import { extname, join } from "node:path"
import { Cause, Effect, type Scope, Stream } from "effect"
import { Multipart } from "effect/http"
import type { PackCall, UploadedFile } from "../../../application/ports/packs/PackLoader.ts"
import { type PackRoute, paramsProblem } from "../../../domain/packs/PackManifest.ts"
import { makeTemporaryFolder } from "../execution/temporaryFolder.ts"
import { type PendingRequest, bodyStream, checkParams, readText } from "./requestBody.ts"
import { ClientDisconnected, reject, RequestRejected } from "./reply.ts"

/** How large forms may be. */
export interface FormLimits {
  /** One file, in bytes. */
  readonly maxFileBytes: number
  /** A whole form, in bytes. */
  readonly maxFormBytes: number
}

/** The parameters of a call, as a form gives them. */
export type FormParams = Pick<PackCall, "args" | "files">

/** More files in one call are a mistake: a tool that wants many takes an archive. */
const maxFiles = 16

/** More fields than any form of people's has. */
const maxFields = 256

/** The text of one field, in bytes: as much as a body of JSON may have, since it is held in memory. */
const maxFieldBytes = 1024 * 1024

/** The texts of all fields of a form together, in characters: they are held in memory. */
const maxTextLength = 8 * 1024 * 1024

/** Headers of a part count as part of it. */
const partHeaderBytes = 64 * 1024

const parserLimits = (maxFileBytes: number) =>
  Multipart.limitsServices({
    maxParts: maxFiles + maxFields,
    maxFieldSize: maxFieldBytes,
    maxFileSize: maxFileBytes + partHeaderBytes,
    // A file of JSON is a file.
    fieldMimeTypes: []
  })

const tooManyParts = (what: string, max: number) =>
  reject(413, `The form exceeds the limit of ${max} ${what}`)

const fileTooLarge = (name: string, maxBytes: number) =>
  reject(413, `The file '${name}' exceeds the limit of ${maxBytes} bytes`)

/** Only the last part of a path that a client gives as name; nothing in it leads anywhere. */
const safeFilename = (given: string): string => {
  // oxlint-disable-next-line no-control-regex -- control characters are what is meant
  const name = (given.split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "")
  return name === "" || name === "." || name === ".." ? "file" : name
}

/** The kind of a file by its name, as programs go by it; nothing else of the name is used on disk. */
const fileExtension = (name: string): string => {
  const extension = extname(name)
  return /^\.[a-z0-9]{1,10}$/i.test(extension) ? extension : ""
}

/** Writes a file as it comes, and gives its size in bytes. */
const writeUpload = (path: string, { content, name }: Multipart.File, maxBytes: number) =>
  Effect.gen(function* () {
    const handle = yield* Effect.acquireRelease(
      Effect.promise(() => open(path, "wx", 0o600)),
      (opened) => Effect.promise(() => opened.close())
    )
    let size = 0
    yield* Stream.runForEach(failOnParserDefect(content), (chunk) => {
      size += chunk.byteLength
      return size > maxBytes
        ? Effect.fail(fileTooLarge(safeFilename(name), maxBytes))
        : Effect.promise(() => handle.writeFile(chunk))
    })
    return size
  }).pipe(Effect.scoped)

const misplacedFile = (name: string, msg: string) => reject(422, [paramsProblem(msg, [name])])

const invalidForm = (reason: string) => reject(400, `The form cannot be read: ${reason}`)

/** What the parser has against a form; what stopped the body below it comes back as it was. */
const toRejection = (
  error: Multipart.MultipartError | RequestRejected | ClientDisconnected,
  maxFileBytes: number
): Effect.Effect<never, RequestRejected | ClientDisconnected> => {
  if (error._tag !== "MultipartError") return Effect.fail(error)
  const { _tag, cause } = error.reason
  switch (_tag) {
    case "TooManyParts":
      return Effect.fail(tooManyParts("parts", maxFiles + maxFields))
    case "FieldTooLarge":
      return Effect.fail(reject(413, `A field of the form exceeds the limit of ${maxFieldBytes} bytes`))
    case "FileTooLarge":
      return Effect.fail(reject(413, `A file of the form exceeds the limit of ${maxFileBytes} bytes`))
    case "BodyTooLarge":
      return Effect.fail(reject(413, "The form is too large"))
    case "Parse":
      return Effect.fail(malformedForm)
    case "InternalError":
      return cause instanceof RequestRejected || cause instanceof ClientDisconnected
        ? Effect.fail(cause)
        : Effect.die(error)
  }
}

const malformedForm = invalidForm("it is malformed, incomplete, or has no boundary")

/** The parser throws at a part whose headers have no end: that is its sender's fault, not ours. */
const failOnParserDefect = <A, E>(stream: Stream.Stream<A, E>): Stream.Stream<A, E | RequestRejected> =>
  Stream.catchCause(
    stream,
    (cause): Stream.Stream<never, E | RequestRejected> =>
      Cause.hasDies(cause) ? Stream.fail(malformedForm) : Stream.failCause(cause)
  )

const unnamedPart = invalidForm("a part has no name")

/** Texts by the name of their parameter; a name that comes again makes a list. */
const collectArgs = (fields: Iterable<readonly [string, string]>) => {
  const args = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of fields) {
    const before = args.get(name)
    args.set(
      name,
      before === undefined ? value : [...(typeof before === "string" ? [before] : before), value]
    )
  }
  return checkParams(Object.fromEntries(args))
}

/**
 * Reads a form with files. They are written to a folder of their own below `folder` as they come, and gone when the
 * scope closes. The first limit that is passed refuses the form (413), of which nothing more is read then.
 */
export const readMultipart = Effect.fnUntraced(function* (
  pendingRequest: PendingRequest,
  { files: fileParams }: PackRoute,
  { maxFileBytes, maxFormBytes }: FormLimits,
  parent?: string
): Effect.fn.Return<FormParams, RequestRejected | ClientDisconnected, Scope.Scope> {
  const body = bodyStream(pendingRequest, maxFormBytes)
  const fields: Array<readonly [string, string]> = []
  const files = new Map<string, Array<UploadedFile>>()
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
    const { [file.key]: param } = Object.hasOwn(fileParams, file.key) ? fileParams : {}
    const before = files.get(file.key) ?? []
    if (param === undefined)
      return yield* misplacedFile(file.key, "The tool has no file parameter of this name")
    if (!param.multiple && before.length > 0)
      return yield* misplacedFile(file.key, "The tool accepts one file here")
    if (count >= maxFiles) return yield* tooManyParts("files", maxFiles)
    folder ??= yield* makeTemporaryFolder("a2c-upload-", parent)
    const filename = safeFilename(file.name)
    const path = join(folder, `${count++}${fileExtension(filename)}`)
    const size = yield* writeUpload(path, file, maxFileBytes)
    // A form of a page has such a part, empty and without a name, for a file that was not chosen.
    if (size === 0 && file.name === file.key) return
    files.set(file.key, [...before, { filename, contentType: file.contentType, size, path }])
  })

  const parts = Stream.pipeThroughChannel(
    body,
    Multipart.makeChannel<ClientDisconnected | RequestRejected>({
      "content-type": pendingRequest.request.headers["content-type"] ?? ""
    })
  )
  yield* Stream.runForEach(
    failOnParserDefect(parts),
    (
      part
    ): Effect.Effect<void, Multipart.MultipartError | RequestRejected | ClientDisconnected, Scope.Scope> =>
      part._tag === "Field" ? addField(part) : addFile(part)
  ).pipe(
    Effect.provideContext(parserLimits(maxFileBytes)),
    Effect.catch((error) => toRejection(error, maxFileBytes))
  )
  // What follows the last part means nothing, but the connection's next request comes after it.
  yield* Stream.runDrain(body)
  return { args: yield* collectArgs(fields), files: Object.fromEntries(files) }
})

/** Reads a form without files, which may have so many bytes. */
export const readUrlEncoded = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const fields = [...new URLSearchParams(yield* readText(body, maxBytes))]
  if (fields.length > maxFields) return yield* tooManyParts("fields", maxFields)
  const params: FormParams = { args: yield* collectArgs(fields), files: {} }
  return params
})
