import { open } from "node:fs/promises"
import { Data, Effect } from "effect"

/** The file has no token to give right now; the message says which file and why, and nothing that stands there. */
export class TokenUnreadable extends Data.TaggedError("TokenUnreadable")<{ readonly message: string }> {}

/** Longest token that is read, in bytes; a file that is longer is another file. */
const mostBytes = 64 * 1024

const reasons: { readonly [code: string]: string } = {
  EACCES: "may not be read",
  EISDIR: "is a folder",
  ENOENT: "does not exist"
}

const whyOf = (error: unknown): string => {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error)
  return reasons[code] ?? `cannot be read: ${code}`
}

const readStart = async (file: string): Promise<string> => {
  const handle = await open(file, "r")
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(mostBytes + 1), 0, mostBytes + 1, 0)
    return buffer.toString("utf8", 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** What stands in a file, without the spaces around it, read anew each time. */
export const tokenFile = (file: string): Effect.Effect<string, TokenUnreadable> => {
  const fail = (why: string) => Effect.fail(new TokenUnreadable({ message: `the token file ${file} ${why}` }))
  return Effect.tryPromise({ try: () => readStart(file), catch: whyOf }).pipe(
    Effect.catch(fail),
    Effect.flatMap((text) => {
      if (text.length > mostBytes) return fail("is too long for a token")
      const token = text.trim()
      return token === "" ? fail("is empty") : Effect.succeed(token)
    })
  )
}
