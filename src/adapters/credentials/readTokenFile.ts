import { read } from "node:fs"
import { open, stat } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { Data, Effect } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { descriptorOf } from "../process/descriptors.ts"

/** The file gives no token. The message has the file and the reason, and nothing of its content. */
export class TokenUnreadable extends Data.TaggedError("TokenUnreadable")<{ readonly message: string }> {}

const maxTokenBytes = 64 * 1024

const fileErrorReasons: { readonly [code: string]: string } = {
  EACCES: "cannot be read: permission denied",
  EISDIR: "is a folder",
  ENOENT: "does not exist"
}

const formatFileError = (error: unknown): string => {
  const code = systemErrorCode(error) ?? String(error)
  return fileErrorReasons[code] ?? `cannot be read: ${code}`
}

const readDescriptor = promisify(read)

/** Reads to the end, or one byte beyond the limit. */
const readPrefix = async (fd: number): Promise<string> => {
  const buffer = Buffer.alloc(maxTokenBytes + 1)
  let length = 0
  for (;;) {
    try {
      const { bytesRead } = await readDescriptor(fd, buffer, length, buffer.length - length, null)
      if (bytesRead === 0) return buffer.toString("utf8", 0, length)
      length += bytesRead
    } catch (error) {
      if (systemErrorCode(error) !== "EAGAIN") throw error
      await sleep(20)
    }
  }
}

const readFile = async (file: string): Promise<string> => {
  try {
    await using handle = await open(file, "r")
    return await readPrefix(handle.fd)
  } catch (error) {
    const descriptor = descriptorOf(file)
    // A socket cannot be opened again: Node gives its children sockets as stdin.
    if (systemErrorCode(error) !== "ENXIO" || descriptor === undefined) throw error
    return await readPrefix(descriptor)
  }
}

/** The contents of pipes and devices by their path. A pipe gives its content once, also to two readers of one process. */
const pipeContents = new Map<string, Promise<string>>()

const readContents = async (file: string): Promise<string> => {
  const known = pipeContents.get(file)
  if (known !== undefined) return known
  if ((await stat(file)).isFile()) return readFile(file)
  const contents = pipeContents.get(file) ?? readFile(file)
  pipeContents.set(file, contents)
  contents.catch(() => pipeContents.delete(file))
  return contents
}

/**
 * Reads a token file and trims its content. Reads a regular file on each call, and a pipe on the first. An error begins with
 * `subject`.
 */
export const readTokenFile = (file: string, subject = "the token file"): Effect.Effect<string, TokenUnreadable> => {
  const failWith = (reason: string) => Effect.fail(new TokenUnreadable({ message: `${subject} ${file} ${reason}` }))
  return Effect.tryPromise({ try: () => readContents(file), catch: formatFileError }).pipe(
    Effect.catch(failWith),
    Effect.flatMap((text) => {
      if (text.length > maxTokenBytes) return failWith("is too long for a token")
      const token = text.trim()
      return token === "" ? failWith("is empty") : Effect.succeed(token)
    })
  )
}
