import { read, fstatSync, type Stats, writeSync } from "node:fs"
import { open, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Data, Result } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"

/** A regular file became a pipe. Without a writer, opening it would block a thread, and with it the end of the process. */
export class FileBecamePipe extends Data.TaggedError("FileBecamePipe") {}

const readDescriptor = promisify(read)

const chunkBytes = 64 * 1024

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

const names: { readonly [name: string]: number } = { stdin: 0, stdout: 1, stderr: 2 }

/** The descriptor of this process that a path such as `/dev/stdout` or `/dev/fd/9` names. */
export const descriptorOf = (file: string): number | undefined => {
  const [, name, digits] = /^\/(?:dev\/(std(?:in|out|err))|(?:dev|proc\/self)\/fd\/(\d+))$/.exec(file) ?? []
  return name === undefined ? (digits === undefined ? undefined : Number(digits)) : names[name]
}

/** The highest descriptor that may be the other end of a pipe of this process. */
const maxOwnDescriptor = 255

const attempt = <A>(operation: () => A): A | undefined => Result.getOrUndefined(Result.try(operation))

const isWritable = (descriptor: number) => attempt(() => writeSync(descriptor, new Uint8Array(0))) !== undefined

/** True for a pipe whose other end is in this process: Node wakes itself through such pipes. */
const isOwnPipe = (descriptor: number, { dev, ino }: Stats): boolean =>
  Array.from({ length: maxOwnDescriptor + 1 }, (_, other) => other).some((other) => {
    const stats = other === descriptor ? undefined : attempt(() => fstatSync(other))
    return stats?.isFIFO() === true && stats.ino === ino && stats.dev === dev && !isWritable(other)
  })

/** The reason why text cannot be written to a descriptor that the parent process should have opened. */
export const descriptorProblem = (descriptor: number): string | undefined => {
  const stats = attempt(() => fstatSync(descriptor))
  if (stats === undefined) return `descriptor ${descriptor} is not open`
  if (stats.isSocket()) return undefined
  const isStream = stats.isFile() || stats.isFIFO() || stats.isCharacterDevice()
  if (!isStream || (stats.isFIFO() && isOwnPipe(descriptor, stats))) {
    return `descriptor ${descriptor} is used by this program itself`
  }
  return isWritable(descriptor) ? undefined : `descriptor ${descriptor} is not open for writing`
}
