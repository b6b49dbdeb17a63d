import { basename, dirname } from "node:path"
import { Duration, Effect, Equal, FileSystem, Stream } from "effect"
import { reloadRequests } from "./hangup.ts"

/** The longest time that an editor takes to save a file. */
const debounceTime = Duration.millis(200)

/** The link that Kubernetes replaces when mounted files change. */
const kubernetesDataLink = "..data"

/**
 * Emits `initial` after the start of the watch, because files may have changed before. Emits `change` each time a
 * file may have changed. Watches folders: editors replace files.
 */
export const fileChanges = (files: ReadonlyArray<string>) => {
  const namesByFolder = Map.groupBy(files, (file) => dirname(file))
  const watchFolder = ([folder, paths]: readonly [string, ReadonlyArray<string>]) => {
    const names = [...paths.map((path) => basename(path)), kubernetesDataLink]
    return FileSystem.FileSystem.pipe(
      Effect.map((fs) => fs.watch(folder)),
      Stream.unwrap,
      Stream.filter(({ path }) => names.includes(basename(path))),
      Stream.catch(({ message }) =>
        Stream.fromEffectDrain(Effect.logWarning("file watch failed, changes not noticed", { folder, reason: message }))
      )
    )
  }
  const changes = Stream.mergeAll([...namesByFolder].map(watchFolder), { concurrency: "unbounded" }).pipe(
    Stream.debounce(debounceTime),
    Stream.map(() => "change" as const)
  )
  return Stream.merge(Stream.fromEffect(Effect.as(Effect.sleep(debounceTime), "initial" as const)), changes)
}

/**
 * Reads files again on every change and on request, and emits what `read` gives. Skips the initial value unless it
 * differs from `current`. A failed read is passed to `onError`, and emits nothing.
 */
export const reloadOnChange = <A, E, R>(
  files: ReadonlyArray<string>,
  current: A,
  read: Effect.Effect<A, E, R>,
  onError: (error: E) => Effect.Effect<void>
): Stream.Stream<A, never, R | FileSystem.FileSystem> =>
  Stream.merge(fileChanges(files), reloadRequests).pipe(
    Stream.mapEffect((trigger) =>
      Effect.matchEffect(read, {
        onFailure: (error) => Effect.as(onError(error), []),
        onSuccess: (next) => Effect.succeed(trigger === "initial" && Equal.equals(next, current) ? [] : [next])
      })
    ),
    Stream.flatMap(Stream.fromIterable)
  )
