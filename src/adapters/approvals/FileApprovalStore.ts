import { Effect, Layer, Result, Semaphore } from "effect"
import { ApprovalStore, ApprovalsUnavailable } from "../../application/ports/approvals/ApprovalStore.ts"
import { noApprovals, storedApprovalsCodec } from "../../domain/approvals/StoredApprovals.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { readOwnerOnlyFile } from "../credentials/ownerOnlyFile.ts"
import { replaceFile } from "../credentials/replaceFile.ts"

/** Maximum file size in bytes: enough for the definitions of a thousand tools. */
const maxFileBytes = 32 * 1024 * 1024

/** Version of the file format. Files with another version are neither used nor changed. */
const version = 1

/** A change reads the file and replaces it. Between processes the last writer wins. */
const writeLock = Semaphore.makeUnsafe(1)

/** Writes URLs of one Server alike: `HTTP://localhost:7070/` as `http://localhost:7070`. */
const comparableUrl = (text: string): string => {
  if (!URL.canParse(text)) return text
  const { host, pathname, protocol } = new URL(text)
  return `${protocol.replace(/^ws/, "http")}//${host}${pathname.replace(/\/+$/, "")}`
}

const parseComputers = (file: unknown): Result.Result<JsonObject, string> => {
  if (file === undefined) return Result.succeed({})
  if (!isJsonObject(file)) return Result.fail("it is not a file of approvals")
  if (file["version"] !== version) return Result.fail(`its version is not ${version}`)
  const computers = file["computers"]
  return isJsonObject(computers) ? Result.succeed(computers) : Result.fail('"computers" must be an object')
}

/**
 * Keeps the approvals of Computers in one JSON file with access for its owner only. A file that others have access to, or
 * that is invalid, is rejected and not overwritten. What is allowed to the members of one Server, by its URL, does not
 * count at another.
 */
export const layer = (file: string, server: string): Layer.Layer<ApprovalStore> =>
  Layer.sync(ApprovalStore, () => {
    const unavailable = (action: string, reason: string) =>
      new ApprovalsUnavailable({ message: `Cannot ${action} the approvals in ${file}: ${reason}` })
    const readAll = Effect.tryPromise({ try: () => readOwnerOnlyFile(file, maxFileBytes), catch: errorMessage }).pipe(
      Effect.flatMap((read) => Effect.fromResult(Result.flatMap(read, parseComputers))),
      Effect.mapError((reason) => unavailable("read", reason))
    )
    const keyOf = (computer: string) => `${computer} at ${comparableUrl(server)}`
    return ApprovalStore.of({
      load: (computer) =>
        Effect.flatMap(readAll, (computers) => {
          const key = keyOf(computer)
          return Object.hasOwn(computers, key)
            ? Effect.mapError(Effect.fromResult(storedApprovalsCodec.decode(computers[key])), (reason) =>
                unavailable("read", reason)
              )
            : Effect.succeed(noApprovals)
        }),
      save: (computer, approvals) =>
        Effect.gen(function* () {
          const others = yield* readAll
          const computers = { ...others, [keyOf(computer)]: storedApprovalsCodec.encode(approvals) }
          const text = `${JSON.stringify({ version, computers })}\n`
          if (Buffer.byteLength(text) > maxFileBytes)
            return yield* unavailable("write", `they exceed ${maxFileBytes} bytes`)
          yield* Effect.tryPromise({
            try: () => replaceFile(file, text),
            catch: (error) => unavailable("write", errorMessage(error))
          })
        }).pipe(Effect.uninterruptible, (whole) => writeLock.withPermit(whole))
    })
  })
