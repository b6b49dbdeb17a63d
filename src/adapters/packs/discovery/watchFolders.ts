import { type FSWatcher, statSync, watch as watchFolder } from "node:fs"
import { Effect, Queue, Schedule, type Scope, Stream } from "effect"
import { isExcluded } from "./fingerprint.ts"

/** Editors and copies cause bursts of changes. */
const debounceTime = "100 millis"

/** Interval of polling for folders that do not exist or cannot be watched. */
const pollInterval = "1 second"

const maxPendingChanges = 16

/** Changes when another folder takes the place of this one. */
const folderIdentity = (folder: string): string | undefined => {
  try {
    const { dev, ino } = statSync(folder)
    return `${dev} ${ino}`
  } catch {
    // The folder does not exist or is unreadable.
    return undefined
  }
}

/** Works also before the folder exists. */
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
        if (path === null || !path.split(/[/\\]/).some(isExcluded)) notify()
      })
      // The system limits the number of watches; polling takes over.
      opened.on("error", close)
      watcher = opened
    } catch {
      // The folder cannot be watched; polling takes over.
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
 * Watches folders. Emits 100 ms after a change, and again after a second, because the system can miss files in a new
 * folder. Events carry no details: the receiver scans the folders.
 */
export const watchFolders = Effect.fnUntraced(function* (
  folders: ReadonlyArray<string>
): Effect.fn.Return<Stream.Stream<void>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const changes = yield* Queue.sliding<"change" | "recheck">(maxPendingChanges)
  const notify = () => Queue.offerUnsafe(changes, "change")
  yield* Effect.forEach(new Set(folders), (folder) => followFolder(folder, notify), { discard: true })
  yield* Queue.clear(changes) // the initial state is no change

  const recheck = Effect.delay(Queue.offer(changes, "recheck"), pollInterval)
  const debounceChanges = Effect.fnUntraced(function* (first: "change" | "recheck") {
    yield* Effect.sleep(debounceTime)
    const all = [first, ...(yield* Queue.clear(changes))]
    if (all.includes("change")) yield* Effect.forkIn(recheck, scope)
  })
  return Stream.mapEffect(Stream.fromQueue(changes), debounceChanges)
})
