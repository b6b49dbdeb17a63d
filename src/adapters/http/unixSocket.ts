import { randomBytes } from "node:crypto"
import { lstat, mkdir, rename, rm } from "node:fs/promises"
import type { Server } from "node:net"
import { posix } from "node:path"
import { Effect } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"

/** Bytes of a path that every system takes for a socket, without the suffix of {@link temporaryPath}. */
export const maxSocketPathBytes = 90

const othersMask = 0o077

/** True for a folder of this user that no other user can enter. A link to a folder does not count. */
export const isPrivateFolder = (folder: string): Effect.Effect<boolean> =>
  Effect.tryPromise(() => lstat(folder)).pipe(
    Effect.map((found) => found.isDirectory() && found.uid === process.getuid?.() && (found.mode & othersMask) === 0),
    Effect.orElseSucceed(() => false)
  )

/** Makes a folder that only this user can enter, unless it exists. Fails when it is no private folder. */
export const makePrivateFolder = (folder: string): Effect.Effect<void, ListenError> =>
  Effect.tryPromise({
    try: () => mkdir(folder, { recursive: true, mode: 0o700 }),
    catch: (error) => new ListenError({ message: `Cannot make ${folder}: ${errorMessage(error)}` })
  }).pipe(
    Effect.andThen(isPrivateFolder(folder)),
    Effect.flatMap((isPrivate) =>
      isPrivate ? Effect.void : Effect.fail(new ListenError({ message: `${folder} is open to other users` }))
    )
  )

const temporaryPath = (path: string): string =>
  posix.join(posix.dirname(path), `.${posix.basename(path).slice(0, 8)}-${randomBytes(4).toString("hex")}`)

const inodeOf = async (path: string): Promise<number> => (await lstat(path)).ino

/**
 * Listens on a Unix socket in a private folder until the scope closes. The socket replaces one that is there: that of a
 * process that crashed, or of one that is about to end.
 */
export const listenOnSocket = Effect.fnUntraced(function* (server: Server, path: string) {
  const fail = (reason: string) => new ListenError({ message: `Cannot listen on ${path}: ${reason}` })
  const temporary = temporaryPath(path)
  yield* Effect.callback<void, ListenError>((resume) => {
    server.on("error", (error) => resume(Effect.fail(fail(formatNetworkError(error)))))
    server.listen(temporary, () => resume(Effect.void))
  })
  const publish = Effect.tryPromise({
    try: async () => {
      await rename(temporary, path)
      return await inodeOf(path)
    },
    catch: (error) => fail(errorMessage(error))
  })
  const remove = (inode: number) =>
    Effect.tryPromise(async () => {
      if ((await inodeOf(path)) === inode) await rm(path)
    })
  yield* Effect.acquireRelease(publish, (inode) => Effect.ignore(remove(inode)))
})
