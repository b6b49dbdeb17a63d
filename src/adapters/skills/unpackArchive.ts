import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { Effect, Result, Stream } from "effect"
import { Tar, Zip } from "effect/encoding"
import { type StagedFile, StagingError } from "../../application/ports/files/SkillFiles.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"
import { skillMainFile } from "../../domain/model/messages/requests.ts"
import { skillLimits } from "../../domain/skills/skillLimits.ts"
import { normalizePath } from "../../domain/skills/skillPaths.ts"
import type { ArchiveFormat } from "../../domain/skills/skillResources.ts"
import { decodeUtf8Lossy } from "../../domain/utf8.ts"

const endSignature = 0x06054b50
const endLength = 22
const maxCommentLength = 0xffff

const entrySignature = 0x02014b50
const entryLength = 46

/** The system of an entry that has a Unix mode in the upper half of its attributes. */
const unixSystem = 3

/** Offset of the record at the end of a ZIP archive, which follows all others but may have a comment. */
const findEnd = (view: DataView): number | undefined => {
  const first = Math.max(0, view.byteLength - endLength - maxCommentLength)
  for (let offset = view.byteLength - endLength; offset >= first; offset--) {
    if (view.getUint32(offset, true) === endSignature) return offset
  }
  return undefined
}

/**
 * Finds the Unix modes of the entries of a ZIP archive by their paths. Only the central directory at its end has them,
 * and tells links apart. Gives what it finds: the archive may be damaged.
 */
const findZipModes = (bytes: Uint8Array): ReadonlyMap<string, number> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const modes = new Map<string, number>()
  const end = findEnd(view)
  if (end === undefined) return modes
  let offset = view.getUint32(end + 16, true)
  while (offset + entryLength <= end && view.getUint32(offset, true) === entrySignature) {
    const nameEnd = offset + entryLength + view.getUint16(offset + 28, true)
    if (nameEnd > end) return modes
    const isUnix = view.getUint8(offset + 5) === unixSystem
    const path = decodeUtf8Lossy(bytes.subarray(offset + entryLength, nameEnd))
    if (isUnix) modes.set(path, view.getUint16(offset + 40, true))
    offset = nameEnd + view.getUint16(offset + 30, true) + view.getUint16(offset + 32, true)
  }
  return modes
}

const { maxDepth, maxFiles, maxStagedBytes } = skillLimits

/** Headers and padding of a tar archive with the maximum number of files. */
const maxTarBytes = maxStagedBytes + (maxFiles + 1) * 4096

const rejected = (reason: string) => new StagingError({ message: `the archive is rejected: ${reason}` })

const tooLarge = rejected(`its files have more than ${maxStagedBytes} bytes`)

/** The longest path that a message quotes, in characters. */
const maxQuotedPath = 256

const quote = (path: string): string => JSON.stringify(path.slice(0, maxQuotedPath))

/** Checks the number and the paths of files to stage, and gives their normalized paths. */
const checkPath = (path: string, count: number): Result.Result<string, StagingError> => {
  const normalized = normalizePath(path)
  if (Result.isFailure(normalized)) return Result.fail(rejected(`${quote(path)} leads out of it`))
  if (normalized.success.split("/").length > maxDepth) return Result.fail(rejected(`${quote(path)} is too deep`))
  return count > maxFiles ? Result.fail(rejected(`more than ${maxFiles} files`)) : Result.succeed(normalized.success)
}

/** An entry of either format; archives in ZIP have their modes elsewhere. */
interface Entry<E> {
  readonly header: { readonly path: string; readonly type: string; readonly mode?: number | undefined }
  readonly body: Stream.Stream<Uint8Array, E>
}

/** The bits of a mode that tell the kind of a file, and the values for files and for unknown kinds. */
const kindMask = 0o170000
const fileKinds: ReadonlySet<number> = new Set([0, 0o100000])

/** Reads the files of an archive within the limits. Rejects links, and paths that lead out of the archive. */
const readEntries = <E extends { readonly message: string }>(
  entries: Stream.Stream<Entry<E>, E>,
  modes: ReadonlyMap<string, number> = new Map()
) =>
  Effect.suspend(() => {
    let left: number = maxStagedBytes
    let count = 0
    const readEntry = Effect.fnUntraced(function* ({ body, header }: Entry<E>) {
      const { path, type, mode = modes.get(path) ?? 0 } = header
      if (type === "Directory") return []
      if (type !== "File" || !fileKinds.has(mode & kindMask))
        return yield* rejected(`${quote(path)} is neither a file nor a folder`)
      const checked = yield* Effect.fromResult(checkPath(path, ++count))
      const chunks: Array<Uint8Array> = []
      yield* Stream.runForEach(body, (chunk) => {
        left -= chunk.length
        if (left < 0) return Effect.fail(tooLarge)
        chunks.push(chunk)
        return Effect.void
      })
      return [{ path: checked, bytes: Buffer.concat(chunks), isExecutable: (mode & 0o111) !== 0 }]
    })
    return Stream.runCollect(Stream.mapEffect(entries, readEntry))
  }).pipe(
    Effect.map((files) => files.flat()),
    Effect.mapError((error) => (error instanceof StagingError ? error : rejected(error.message)))
  )

const gunzipBytes = (bytes: Uint8Array) =>
  Effect.tryPromise({
    try: () => promisify(gunzip)(bytes, { maxOutputLength: maxTarBytes }),
    catch: (error) => (systemErrorCode(error) === "ERR_BUFFER_TOO_LARGE" ? tooLarge : rejected(errorMessage(error)))
  })

/** Removes the only folder around all files, if the skill is in it. */
const removeOuterFolder = (files: ReadonlyArray<StagedFile>): ReadonlyArray<StagedFile> => {
  if (files.some(({ path }) => path === skillMainFile)) return files
  const outer = files.find(({ path }) => path.split("/").slice(1).join("/") === skillMainFile)?.path
  const prefix = outer?.slice(0, -skillMainFile.length)
  return prefix !== undefined && files.every(({ path }) => path.startsWith(prefix))
    ? files.map((file) => ({ ...file, path: file.path.slice(prefix.length) }))
    : files
}

/** Unpacks an archive in memory. Its files are those of the skill, or are all in one folder. */
export const unpackArchive = Effect.fnUntraced(function* (format: ArchiveFormat, bytes: Uint8Array) {
  const files =
    format === "zip"
      ? readEntries(Stream.pipeThroughChannel(Stream.make(bytes), Zip.decode()), findZipModes(bytes))
      : readEntries(Stream.pipeThroughChannel(Stream.make(yield* gunzipBytes(bytes)), Tar.decode()))
  return removeOuterFolder(yield* files)
})

/** Gives the files to stage, checked against the limits. */
export const checkFiles = (files: ReadonlyArray<StagedFile>) => {
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  if (size > maxStagedBytes) return Result.fail(tooLarge)
  const checked = files.map((file, index) =>
    Result.map(checkPath(file.path, index + 1), (path): StagedFile => ({ ...file, path }))
  )
  return Result.all(checked)
}
