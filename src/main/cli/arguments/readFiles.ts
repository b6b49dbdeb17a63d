import { open } from "node:fs/promises"
import { Effect } from "effect"
import { errorMessage, systemErrorCode } from "../../../domain/errorMessage.ts"
import { CommandFailed } from "../../CommandFailed.ts"

/** In bytes. A Server accepts smaller messages unless it is configured otherwise. */
const maxBytes = 16 * 1024 * 1024

const decode = (bytes: Uint8Array): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw new Error("it is not a text in UTF-8")
  }
}

const readStream = async (stream: AsyncIterable<Uint8Array>, max: number): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.byteLength
    if (size > max) throw new Error(`it is larger than ${max} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const readFile = async (file: string, max: number): Promise<Uint8Array> => {
  await using handle = await open(file, "r")
  return await readStream(handle.createReadStream({ autoClose: false }), max)
}

const reasonOf = (error: unknown): string =>
  systemErrorCode(error) === "ENOENT" ? "the file does not exist" : errorMessage(error)

const attempt = <A>(source: string, read: () => Promise<A>) =>
  Effect.tryPromise({
    try: read,
    catch: (error) => new CommandFailed({ message: `Cannot read ${source}: ${reasonOf(error)}` })
  })

/** Reads a text file of arguments. */
export const readTextOf = (file: string) => attempt(file, async () => decode(await readFile(file, maxBytes)))

/** Reads arguments from stdin, to its end. */
export const readStdin = attempt("stdin", async () => decode(await readStream(process.stdin, maxBytes)))

/** Reads a file of any content, or stdin for `-`, of at most `max` bytes. */
export const readBytes = (file: string, max: number) =>
  file === "-" ? attempt("stdin", () => readStream(process.stdin, max)) : attempt(file, () => readFile(file, max))
