import { read } from "node:fs"
import { open, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Data } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { descriptorOf } from "./descriptors.ts"

/** A regular file became a pipe. Without a writer, opening it would block a thread, and with it the end of the process. */
export class FileBecamePipe extends Data.TaggedError("FileBecamePipe") {}

const readDescriptor = promisify(read)

/** Reads at most this many bytes at once. */
const chunkBytes = 64 * 1024

/** Reads to the end, or to the limit. */
const readPrefix = async (fd: number, maxBytes: number): Promise<string> => {
  const chunks: Array<Buffer> = []
  let length = 0
  while (length < maxBytes) {
    const buffer = Buffer.alloc(Math.min(chunkBytes, maxBytes - length))
    try {
      const { bytesRead } = await readDescriptor(fd, buffer, 0, buffer.length, null)
      if (bytesRead === 0) break
      length += bytesRead
      chunks.push(buffer.subarray(0, bytesRead))
    } catch (error) {
      if (systemErrorCode(error) !== "EAGAIN") throw error
      await sleep(20)
    }
  }
  return Buffer.concat(chunks).toString("utf8")
}

const readFile = async (file: string, maxBytes: number): Promise<string> => {
  try {
    await using handle = await open(file, "r")
    return await readPrefix(handle.fd, maxBytes)
  } catch (error) {
    const descriptor = descriptorOf(file)
    // A socket cannot be opened again: Node gives its children sockets as stdin.
    if (systemErrorCode(error) !== "ENXIO" || descriptor === undefined) throw error
    return await readPrefix(descriptor, maxBytes)
  }
}

/** The contents of pipes and devices by their path. A pipe gives its content once, also to two readers of one process. */
const pipeContents = new Map<string, Promise<string>>()

/** The paths that were regular files. */
const regularFiles = new Set<string>()

/** Reads a regular file on each call, and a pipe or device on the first. Gives at most `maxBytes` of it. */
export const readFileContents = async (file: string, maxBytes: number): Promise<string> => {
  const known = pipeContents.get(file)
  if (known !== undefined) return known
  const info = await stat(file)
  if (info.isFile()) {
    regularFiles.add(file)
    return readFile(file, maxBytes)
  }
  if (info.isFIFO() && regularFiles.has(file)) throw new FileBecamePipe()
  const contents = pipeContents.get(file) ?? readFile(file, maxBytes)
  pipeContents.set(file, contents)
  contents.catch(() => pipeContents.delete(file))
  return contents
}
