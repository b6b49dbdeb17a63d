import { mkdtemp, open, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { extname, join } from "node:path"
import { Cause, Effect, type Scope, Stream } from "effect"
import { Multipart } from "effect/http"
import type { PackCall, UploadedFile } from "../../../application/ports/PackLoader.ts"
import type { PackRoute } from "../../../domain/packs/offer.ts"
import { type Incoming, makeBody, readParams, readText } from "./body.ts"
import { Gone, refuse, Refused } from "./reply.ts"

/** How large forms may be. */
export interface FormLimits {
  /** One file, in bytes. */
  readonly largestFile: number
  /** A whole form, in bytes. */
  readonly largestForm: number
}

/** The parameters of a call, as a form gives them. */
export type FormParams = Pick<PackCall, "args" | "files">

/** More files in one call are a mistake: a tool that wants many takes an archive. */
const mostFiles = 16

/** More fields than any form of people's has. */
const mostFields = 256

/** The text of one field, in bytes: as much as a body of JSON may have, since it is held in memory. */
const largestField = 1024 * 1024

/** The texts of all fields of a form together, in characters: they are held in memory. */
const mostText = 8 * 1024 * 1024

/** Headers of a part count as part of it. */
const headersOfPart = 64 * 1024

const limits = (largestFile: number) =>
  Multipart.limitsServices({
    maxParts: mostFiles + mostFields,
    maxFieldSize: largestField,
    maxFileSize: largestFile + headersOfPart,
    // A file of JSON is a file.
    fieldMimeTypes: []
  })

const tooMany = (what: string, most: number) => refuse(413, `A form may have no more than ${most} ${what}`)

const fileTooLarge = (name: string, largest: number) =>
  refuse(413, `The file '${name}' has more than the ${largest} bytes that it may have`)

/** Only the last part of a path that a client gives as name; nothing in it leads anywhere. */
const nameOf = (given: string): string => {
  // oxlint-disable-next-line no-control-regex -- control characters are what is meant
  const name = (given.split(/[\\/]/).at(-1) ?? "").replace(/[\x00-\x1f\x7f]/g, "")
  return name === "" || name === "." || name === ".." ? "file" : name
}

/** The kind of a file by its name, as programs go by it; nothing else of the name is used on disk. */
const kindOf = (name: string): string => {
  const kind = extname(name)
  return /^\.[a-z0-9]{1,10}$/i.test(kind) ? kind : ""
}

/** A folder of one call, which nobody else may look into; it is gone with the scope. */
const makeFolder = (parent: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(parent, "a2c-upload-"))),
    (folder) =>
      Effect.catch(
        Effect.tryPromise(() => rm(folder, { recursive: true, force: true })),
        ({ cause }) => Effect.logWarning("uploaded files could not be removed", { folder }, cause)
      )
  )

/** Writes a file as it comes, and gives its size in bytes. */
const write = (path: string, { content, name }: Multipart.File, largest: number) =>
  Effect.gen(function* () {
    const handle = yield* Effect.acquireRelease(
      Effect.promise(() => open(path, "wx", 0o600)),
      (opened) => Effect.promise(() => opened.close())
    )
    let size = 0
    yield* Stream.runForEach(readable(content), (chunk) => {
      size += chunk.byteLength
      return size > largest
        ? Effect.fail(fileTooLarge(nameOf(name), largest))
        : Effect.promise(() => handle.writeFile(chunk))
    })
    return size
  }).pipe(Effect.scoped)

const misplaced = (name: string, msg: string) =>
  refuse(422, [{ loc: ["body", name], msg, type: "value_error" }])

const unreadable = (why: string) => refuse(400, `The form cannot be read: ${why}`)

/** What the parser has against a form; what stopped the body below it comes back as it was. */
const explain = (
  error: Multipart.MultipartError | Refused | Gone,
  largestFile: number
): Effect.Effect<never, Refused | Gone> => {
  if (error._tag !== "MultipartError") return Effect.fail(error)
  const { _tag, cause } = error.reason
  switch (_tag) {
    case "TooManyParts":
      return Effect.fail(tooMany("parts", mostFiles + mostFields))
    case "FieldTooLarge":
      return Effect.fail(refuse(413, `A field of a form may have no more than ${largestField} bytes`))
    case "FileTooLarge":
      return Effect.fail(refuse(413, `A file may have no more than ${largestFile} bytes`))
    case "BodyTooLarge":
      return Effect.fail(refuse(413, "The form is too large"))
    case "Parse":
      return Effect.fail(broken)
    case "InternalError":
      return cause instanceof Refused || cause instanceof Gone ? Effect.fail(cause) : Effect.die(error)
  }
}

const broken = unreadable("it is broken, incomplete, or has no boundary")

/** The parser throws at a part whose headers have no end: that is its sender's fault, not ours. */
const readable = <A, E>(stream: Stream.Stream<A, E>): Stream.Stream<A, E | Refused> =>
  Stream.catchCause(
    stream,
    (cause): Stream.Stream<never, E | Refused> =>
      Cause.hasDies(cause) ? Stream.fail(broken) : Stream.failCause(cause)
  )

const nameless = unreadable("a part of it has no name")

/** Texts by the name of their parameter; a name that comes again makes a list. */
const argsOf = (fields: Iterable<readonly [string, string]>) => {
  const args = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of fields) {
    const before = args.get(name)
    args.set(
      name,
      before === undefined ? value : [...(typeof before === "string" ? [before] : before), value]
    )
  }
  return readParams(Object.fromEntries(args))
}

/**
 * Reads a form with files. They are written to a folder of their own below `folder` as they come, and gone when the
 * scope closes. The first limit that is passed refuses the form (413), of which nothing more is read then.
 */
export const readMultipart = Effect.fnUntraced(function* (
  incoming: Incoming,
  { files: wanted }: PackRoute,
  { largestFile, largestForm }: FormLimits,
  parent = tmpdir()
): Effect.fn.Return<FormParams, Refused | Gone, Scope.Scope> {
  const body = makeBody(incoming, largestForm)
  const fields: Array<readonly [string, string]> = []
  const files = new Map<string, Array<UploadedFile>>()
  let folder: string | undefined
  let count = 0
  let text = 0

  const addField = ({ key, value }: Multipart.Field) => {
    if (key === "") return nameless
    if (fields.length >= mostFields) return tooMany("fields", mostFields)
    text += value.length
    if (text > mostText)
      return refuse(413, `All fields of a form may have no more than ${mostText} characters`)
    fields.push([key, value])
    return Effect.void
  }
  const addFile = Effect.fnUntraced(function* (file: Multipart.File) {
    if (file.key === "") return yield* nameless
    const { [file.key]: param } = Object.hasOwn(wanted, file.key) ? wanted : {}
    const before = files.get(file.key) ?? []
    if (param === undefined) return yield* misplaced(file.key, "The tool takes no file of this name")
    if (!param.many && before.length > 0) return yield* misplaced(file.key, "The tool takes one file here")
    if (count >= mostFiles) return yield* tooMany("files", mostFiles)
    folder ??= yield* makeFolder(parent)
    const filename = nameOf(file.name)
    const path = join(folder, `${count++}${kindOf(filename)}`)
    const size = yield* write(path, file, largestFile)
    // A form of a page has such a part, empty and without a name, for a file that was not chosen.
    if (size === 0 && file.name === file.key) return
    files.set(file.key, [...before, { filename, contentType: file.contentType, size, path }])
  })

  const parts = Stream.pipeThroughChannel(
    body,
    Multipart.makeChannel<Gone | Refused>({ "content-type": incoming.request.headers["content-type"] ?? "" })
  )
  yield* Stream.runForEach(
    readable(parts),
    (part): Effect.Effect<void, Multipart.MultipartError | Refused | Gone, Scope.Scope> =>
      part._tag === "Field" ? addField(part) : addFile(part)
  ).pipe(
    Effect.provideContext(limits(largestFile)),
    Effect.catch((error) => explain(error, largestFile))
  )
  // What follows the last part means nothing, but the connection's next request comes after it.
  yield* Stream.runDrain(body)
  return { args: yield* argsOf(fields), files: Object.fromEntries(files) }
})

/** Reads a form without files, which may have so many bytes. */
export const readUrlEncoded = Effect.fnUntraced(function* (body: Incoming, largest: number) {
  const fields = [...new URLSearchParams(yield* readText(body, largest))]
  if (fields.length > mostFields) return yield* tooMany("fields", mostFields)
  const params: FormParams = { args: yield* argsOf(fields), files: {} }
  return params
})
