import { Effect, Option, Semaphore } from "effect"
import { makeKeptValues } from "../../../../domain/blobs/keptValues.ts"
import type { ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import { skillMainFile } from "../../../../domain/model/messages/requests.ts"
import { maxFrontMatterBytes, splitFrontMatter } from "../../../../domain/skills/frontMatter.ts"
import { isTextMimeType, mimeTypeOf } from "../../../../domain/skills/mimeTypes.ts"
import { skillFileChanged, skillFileNotAccessible } from "../../../../domain/skills/skillErrors.ts"
import { skillLimits } from "../../../../domain/skills/skillLimits.ts"
import { isForbiddenPath } from "../../../../domain/skills/skillPaths.ts"
import { decodeUtf8 } from "../../../../domain/utf8.ts"
import { type OpenSkillFile, SkillFileError, type SkillFiles } from "../../../ports/files/SkillFiles.ts"
import type { BlobSource } from "../Blobs.ts"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"

/** Hashes that are kept: of the files that were read last. */
const maxDigests = 1000

/** Bytes that are hashed at once. Other work continues in between. */
const hashedChunkBytes = 256 * 1024

/** The SHA-256 of bytes in hexadecimal. */
export const digestBytes = (bytes: Uint8Array): string => bytesToHex(sha256(bytes))

/** Makes the hashes of files: each version of a file is hashed once, although every chunk of a blob needs the hash. */
const makeSkillDigests = Effect.fnUntraced(function* () {
  const digests = makeKeptValues<string>(() => 1, maxDigests)
  const lock = yield* Semaphore.make(1)

  const computeDigest = Effect.fnUntraced(function* ({ read, size }: OpenSkillFile, start: number) {
    const hash = sha256.create()
    for (let offset = start; offset < size; offset += hashedChunkBytes) {
      hash.update(yield* read(offset, hashedChunkBytes))
      yield* Effect.yieldNow
    }
    return bytesToHex(hash.digest())
  })

  /** The SHA-256 of the content of a file from `start` in bytes, in hexadecimal. */
  return (file: OpenSkillFile, start: number): Effect.Effect<string, SkillFileError> => {
    const key = `${file.version} ${start}`
    return lock.withPermit(
      Effect.gen(function* () {
        const digest = digests.get(key) ?? (yield* computeDigest(file, start))
        // Also one that is kept: the least recently used is dropped first.
        digests.put(key, digest)
        return digest
      })
    )
  }
})

/** A file of a skill: for a short text its whole content in `body`. */
export interface SkillFileSource extends BlobSource {
  /** The normalized path below the folder of the skill. */
  readonly relPath: string
  readonly body?: string
}

/** A path below the folder of a skill, and the text of the request that it comes from. */
interface RequestedPath {
  readonly path: string
  readonly relPath: string
}

/** Attempts to read a file that changes meanwhile. */
const maxAttempts = 3

const byteOrderMark = "\u{feff}"

/** Decodes UTF-8 with a leading byte order mark: the text stands for exactly these bytes. */
const decodeExactly = (bytes: Uint8Array): string | undefined => {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  const text = Option.getOrUndefined(decodeUtf8(bytes))
  return text !== undefined && hasMark ? byteOrderMark + text : text
}

/** Makes a function that reads the files of skills. */
export const makeSkillFileReader = Effect.fnUntraced(function* (files: SkillFiles["Service"]) {
  const digestOf = yield* makeSkillDigests()

  const openFile = Effect.fnUntraced(function* (root: string, { path, relPath }: RequestedPath) {
    const file = yield* files.open(root, path)
    // A link can have a harmless name.
    return isForbiddenPath(file.path) ? yield* skillFileNotAccessible("forbidden", relPath) : file
  })

  /** Where the content begins: after the front matter of the main file. */
  const contentOffsetOf = (file: OpenSkillFile, path: string) =>
    path === skillMainFile
      ? Effect.map(file.read(0, maxFrontMatterBytes + 1), (head) => splitFrontMatter(head).contentOffset)
      : Effect.succeed(0)

  /** Reads a part of the content of the same version of a file. */
  const readPart = (root: string, requested: RequestedPath, version: string, offset: number, length: number) =>
    openFile(root, requested).pipe(
      Effect.flatMap((file) =>
        file.version === version
          ? file.read(offset, length)
          : Effect.fail(new SkillFileError({ reason: "changed", message: "the file has changed" }))
      ),
      Effect.scoped,
      Effect.catchTag("SkillFileError", () => Effect.fail(skillFileChanged()))
    )

  const readOnce = Effect.fnUntraced(function* (root: string, requested: RequestedPath) {
    const { path, relPath } = requested
    const file = yield* openFile(root, requested)
    const contentOffset = yield* contentOffsetOf(file, path)
    const totalSize = file.size - contentOffset
    if (totalSize > skillLimits.maxFileBytes) return yield* skillFileNotAccessible("too_large", relPath, totalSize)
    const mimeType = mimeTypeOf(path)
    const read: BlobSource["read"] = (offset, length) =>
      readPart(root, requested, file.version, contentOffset + offset, length)
    const source = { relPath: path, mimeType, totalSize, read }
    if (!isTextMimeType(mimeType) || totalSize > skillLimits.maxInlineBytes) {
      return { ...source, sha256: yield* digestOf(file, contentOffset) }
    }
    const bytes = yield* file.read(contentOffset, totalSize)
    const body = decodeExactly(bytes)
    return { ...source, sha256: digestBytes(bytes), ...(body !== undefined && { body }) }
  }, Effect.scoped)

  /** Reads a file below the folder of a skill (spec §1.2, steps 3 to 6). */
  return (root: string, requested: RequestedPath): Effect.Effect<SkillFileSource, ProtocolError> =>
    readOnce(root, requested).pipe(
      Effect.retry({
        times: maxAttempts - 1,
        while: (error) => error._tag === "SkillFileError" && error.reason === "changed"
      }),
      Effect.catchTag("SkillFileError", ({ message, reason }) =>
        Effect.andThen(
          Effect.logDebug("skill file not read", { root, path: requested.path, reason: message }),
          Effect.fail(skillFileNotAccessible(reason === "changed" ? "io_error" : reason, requested.relPath))
        )
      )
    )
})
