import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { Effect, Semaphore } from "effect"
import type { OpenSkillFile, SkillFileError } from "../../../ports/files/SkillFiles.ts"

/** Hashes that are kept: of the files that were read last. */
const maxDigests = 1000

/** Bytes that are hashed at once. Other work continues in between. */
const hashedChunkBytes = 256 * 1024

/** The SHA-256 of bytes in hexadecimal. */
export const digestBytes = (bytes: Uint8Array): string => bytesToHex(sha256(bytes))

/** Makes the hashes of files: each version of a file is hashed once, although every chunk of a blob needs the hash. */
export const makeSkillDigests = Effect.fnUntraced(function* () {
  const digests = new Map<string, string>()
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
        // The least recently used is the first one.
        digests.delete(key)
        digests.set(key, digest)
        for (const oldest of digests.keys()) {
          if (digests.size <= maxDigests) break
          digests.delete(oldest)
        }
        return digest
      })
    )
  }
})
