import { Data, Effect } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { FileBecamePipe, readFileContents } from "../process/fileContents.ts"

/** The file gives no token. The message has the file and the reason, and nothing of its content. */
export class TokenUnreadable extends Data.TaggedError("TokenUnreadable")<{ readonly message: string }> {}

const maxTokenBytes = 64 * 1024

const fileErrorReasons: { readonly [code: string]: string } = {
  EACCES: "cannot be read: permission denied",
  EISDIR: "is a folder",
  ENOENT: "does not exist"
}

const formatFileError = (error: unknown): string => {
  if (error instanceof FileBecamePipe) return "became a pipe"
  const code = systemErrorCode(error) ?? String(error)
  return fileErrorReasons[code] ?? `cannot be read: ${code}`
}

/**
 * Reads a token file and trims its content. Reads a regular file on each call, and a pipe on the first. An error begins with
 * `subject`.
 */
export const readTokenFile = (file: string, subject = "the token file"): Effect.Effect<string, TokenUnreadable> => {
  const failWith = (reason: string) => Effect.fail(new TokenUnreadable({ message: `${subject} ${file} ${reason}` }))
  return Effect.tryPromise({ try: () => readFileContents(file, maxTokenBytes + 1), catch: formatFileError }).pipe(
    Effect.catch(failWith),
    Effect.flatMap((text) => {
      if (text.length > maxTokenBytes) return failWith("is too long for a token")
      const token = text.trim()
      return token === "" ? failWith("is empty") : Effect.succeed(token)
    })
  )
}
