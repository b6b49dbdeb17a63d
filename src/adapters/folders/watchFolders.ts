import { type FSWatcher, statSync, watch as watchFolder } from "node:fs"
import { Effect, Queue, Schedule, type Scope, Stream } from "effect"

/** Editors and copies cause bursts of changes. */
const debounceTime = "100 millis"

/** Interval of polling for folders that do not exist or cannot be watched. */
const pollInterval = "1 second"

/** Changes when another folder takes the place of this one; `undefined` without a readable one. */
const folderIdentity = (folder: string): string | undefined => {
  try {
    const { dev, ino } = statSync(folder)
    return `${dev} ${ino}`
  } catch {
    return undefined
  }
}

/** Works also before the folder exists. */
const followFolder = Effect.fnUntraced(function* (
  folder: string,
  isIgnored: (name: string) => boolean,
  notify: () => void
) {
  let identity: string | undefined
  let watcher: FSWatcher | undefined
  let changed = false

  const close = (): void => {
    watcher?.close()
    watcher = undefined
  }
  const open = (): void => {
    try {
      const opened = watchFolder(folder, { recursive: true, persistent: false }, (_, path) => {
        if (path !== null && path.split(/[/\\]/).some(isIgnored)) return
        changed = true
        notify()
      })
      // The system limits the number of watches; polling takes over.
      opened.on("error", close)
      watcher = opened
    } catch {
      // The folder cannot be watched; polling takes over.
    }
  }
  /** Node loses files that a change replaces, and files in a new folder: a change leads to a new watcher. */
  const checkFolder = Effect.sync(() => {
    const now = folderIdentity(folder)
    const isOther = now !== identity
    if (isOther || changed) {
      close()
      identity = now
      changed = isOther
      if (now !== undefined) open()
      notify()
    } else if (now !== undefined && watcher === undefined) notify()
  })

  yield* Effect.addFinalizer(() => Effect.sync(close))
  yield* checkFolder
  changed = false
  yield* Effect.forkScoped(Effect.repeat(checkFolder, Schedule.spaced(pollInterval)))
})

/**
 * Watches folders, without changes below entries with ignored names. Emits 100 ms after a change, and again within a
 * second, because the system can miss files until the folder is watched again. Events carry no details: the receiver scans the folders.
 */
export const watchFolders = Effect.fnUntraced(function* (
  folders: ReadonlyArray<string>,
  isIgnored: (name: string) => boolean
): Effect.fn.Return<Stream.Stream<void>, never, Scope.Scope> {
  const changes = yield* Queue.sliding<void>(1)
  const notify = () => Queue.offerUnsafe(changes, undefined)
  yield* Effect.forEach(new Set(folders), (folder) => followFolder(folder, isIgnored, notify), { discard: true })
  yield* Queue.clear(changes) // the initial state is no change
  return Stream.mapEffect(Stream.fromQueue(changes), () =>
    Effect.andThen(Effect.sleep(debounceTime), Effect.asVoid(Queue.clear(changes)))
  )
})
