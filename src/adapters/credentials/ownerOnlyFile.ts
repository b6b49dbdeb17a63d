import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { Result } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { parseJson } from "../../domain/json.ts"

const othersMask = 0o077

/** Windows has no file modes; it protects the folders of a user itself. */
const hasFileModes = process.platform !== "win32"

const isMissing = (error: unknown): boolean => systemErrorCode(error) === "ENOENT"

/**
 * Reads a JSON file of at most `maxBytes`, which may be missing: the value is then `undefined`. Fails when others have access
 * to the file, or when it is not JSON; the reasons quote no part of it.
 */
export const readOwnerOnlyFile = async (file: string, maxBytes: number): Promise<Result.Result<unknown, string>> => {
  // Opened without waiting: a pipe may have no writer.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (handle === undefined) return Result.succeed(undefined)
  const stats = await handle.stat()
  if (!stats.isFile()) return Result.fail("it is not a regular file")
  const { mode, size } = stats
  if (hasFileModes && (mode & othersMask) !== 0) {
    const rights = (mode & 0o777).toString(8).padStart(4, "0")
    return Result.fail(`others have access to it (mode ${rights}): run chmod 600`)
  }
  if (size > maxBytes) return Result.fail(`it is larger than ${maxBytes} bytes`)
  const value = parseJson(await handle.readFile("utf8"))
  return value === undefined ? Result.fail("it is not JSON") : Result.succeed(value)
}
