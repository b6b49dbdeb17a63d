import { basename, dirname } from "node:path"
import { Duration, Effect, FileSystem, Queue, Stream } from "effect"

/** What an editor does to a file when it saves it takes no longer. */
const debounceTime = Duration.millis(200)

/** Where files are mounted by Kubernetes, they stay links; what changes is the folder of this name, to which they lead. */
const kubernetesDataLink = "..data"

/** SIGHUP, by which programs are told to read their files again. */
export const hangupSignals = Stream.callback<"SIGHUP">((queue) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const offer = () => void Queue.offerUnsafe(queue, "SIGHUP")
      process.on("SIGHUP", offer)
      return offer
    }),
    (offer) => Effect.sync(() => process.off("SIGHUP", offer))
  )
)

/** One look at files that begin to be watched, as soon as every change of them is told: what was changed before is not. */
export const initialCheck: Stream.Stream<"look"> = Stream.fromEffect(
  Effect.as(Effect.sleep(debounceTime), "look")
)

/** Says when one of these files may have changed. Folders are watched: editors put a new file in place of the old. */
export const fileChanges = Effect.fnUntraced(function* (files: ReadonlyArray<string>) {
  const fs = yield* FileSystem.FileSystem
  const folders = [...new Set(files.map((file) => dirname(file)))]
  return Stream.mergeAll(
    folders.map((folder) => {
      const names = files.filter((file) => dirname(file) === folder).map((file) => basename(file))
      return fs.watch(folder).pipe(
        Stream.filter(({ path }) => [...names, kubernetesDataLink].includes(basename(path))),
        Stream.catch(({ message }) =>
          Stream.fromEffectDrain(
            Effect.logWarning("configuration is not watched, send SIGHUP after a change", {
              folder,
              reason: message
            })
          )
        )
      )
    }),
    { concurrency: "unbounded" }
  ).pipe(Stream.debounce(debounceTime))
})
