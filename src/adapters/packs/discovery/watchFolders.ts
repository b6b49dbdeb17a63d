import { type FSWatcher, statSync, watch as watchFolder } from "node:fs"
import { Effect, Queue, Schedule, type Scope, Stream } from "effect"
import { isExcluded } from "./fingerprint.ts"

/** Changes within this time are told together: editors and copies make many. */
const debounceTime = "100 millis"

/** How often folders are looked for that are not there, or that the system does not watch for us. */
const pollInterval = "1 second"

/** So many changes wait to be told; they all say the same. */
const maxPendingChanges = 16

/** Which folder it is; another one may come under the same name. */
const folderIdentity = (folder: string): string | undefined => {
  try {
    const { dev, ino } = statSync(folder)
    return `${dev} ${ino}`
  } catch {
    // It is not there, or not for us.
    return undefined
  }
}

/** Does a change there concern a pack? Paths are those the system gives, below the folder. */
const isRelevantPath = (path: string | null): boolean =>
  path === null || !path.split(/[/\\]/).some(isExcluded)

/** Follows one folder, whether it is there or not. */
const followFolder = Effect.fnUntraced(function* (folder: string, notify: () => void) {
  let identity: string | undefined
  let watcher: FSWatcher | undefined

  const close = (): void => {
    watcher?.close()
    watcher = undefined
  }
  const open = (): void => {
    try {
      const opened = watchFolder(folder, { recursive: true, persistent: false }, (_, path) => {
        if (isRelevantPath(path)) notify()
      })
      // The system watches only so many folders. From now on we look ourselves.
      opened.on("error", close)
      watcher = opened
    } catch {
      // It is gone again, or cannot be watched: we look ourselves.
      watcher = undefined
    }
  }
  const checkFolder = Effect.sync(() => {
    const now = folderIdentity(folder)
    if (now !== identity) {
      close()
      identity = now
      if (now !== undefined) open()
      notify()
    } else if (now !== undefined && watcher === undefined) notify()
  })

  yield* Effect.addFinalizer(() => Effect.sync(close))
  yield* checkFolder
  yield* Effect.forkScoped(Effect.repeat(checkFolder, Schedule.spaced(pollInterval)))
})

/**
 * Says that something in one of these folders may have changed, a tenth of a second after it did and once more after a
 * second: the system may miss what comes into a new folder right away. Whoever listens looks what has changed.
 */
export const watchFolders = Effect.fnUntraced(function* (
  folders: ReadonlyArray<string>
): Effect.fn.Return<Stream.Stream<void>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const changes = yield* Queue.sliding<"change" | "recheck">(maxPendingChanges)
  const notify = () => Queue.offerUnsafe(changes, "change")
  yield* Effect.forEach(new Set(folders), (folder) => followFolder(folder, notify), { discard: true })
  yield* Queue.clear(changes) // what was found at the start is no change

  const recheck = Effect.delay(Queue.offer(changes, "recheck"), pollInterval)
  const debounceChanges = Effect.fnUntraced(function* (first: "change" | "recheck") {
    yield* Effect.sleep(debounceTime)
    const all = [first, ...(yield* Queue.clear(changes))]
    if (all.includes("change")) yield* Effect.forkIn(recheck, scope)
  })
  return Stream.mapEffect(Stream.fromQueue(changes), debounceChanges)
})
