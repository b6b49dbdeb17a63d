import { open } from "node:fs/promises"
import { Effect } from "effect"
import { errorMessage, systemErrorCode } from "../../../domain/errorMessage.ts"
import { CommandFailed } from "../CommandFailed.ts"

/** In bytes. A Server accepts smaller messages unless it is configured otherwise. */
const maxBytes = 16 * 1024 * 1024

const decode = (chunks: ReadonlyArray<Uint8Array>): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new Error("it is not a text in UTF-8")
  }
}

const readStream = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.byteLength
    if (size > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return decode(chunks)
}

const readFile = async (file: string): Promise<string> => {
  await using handle = await open(file, "r")
  return await readStream(handle.createReadStream({ autoClose: false }))
}

const reasonOf = (error: unknown): string =>
  systemErrorCode(error) === "ENOENT" ? "the file does not exist" : errorMessage(error)

const attempt = (source: string, read: () => Promise<string>) =>
  Effect.tryPromise({
    try: read,
    catch: (error) => new CommandFailed({ message: `Cannot read ${source}: ${reasonOf(error)}` })
  })

/** Reads a text file of arguments. */
export const readTextOf = (file: string) => attempt(file, () => readFile(file))

/** Reads arguments from stdin, to its end. */
export const readStdin = attempt("stdin", () => readStream(process.stdin))
