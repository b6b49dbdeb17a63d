import { AsyncLocalStorage } from "node:async_hooks"
import { pathToFileURL } from "node:url"
import { Effect, Predicate, Result, type Scope } from "effect"
import type { Enter } from "./settle.ts"
import { wordsOf } from "./thrown.ts"

/** A pack whose code runs in this thread. */
interface Guarded {
  /** Its folder, by absolute path. */
  readonly folder: string
  /** Hears what code of the pack threw where nobody catches. */
  readonly onStray: (message: string) => void
}

/** Keeps this thread alive when code of a pack throws where nobody catches: in a timer, or in a forgotten promise. */
export interface Guard {
  /** How code of this pack is entered; it is watched for as long as the scope. */
  readonly watch: (guarded: Guarded) => Effect.Effect<Enter, never, Scope.Scope>
}

const kinds = ["uncaughtException", "unhandledRejection"] as const

/** What a stranger throws may throw itself when it is looked at. */
const stackOf = (error: unknown): string =>
  Result.getOrElse(
    Result.try(() =>
      Predicate.hasProperty(error, "stack") && typeof error.stack === "string" ? error.stack : ""
    ),
    () => ""
  )

/**
 * A guard that lasts as long as the scope. Errors are known to be a pack's by what called them, or else by their stack;
 * any other is let through to whoever else listens, or to Node, which ends the process.
 */
export const make: Effect.Effect<Guard, never, Scope.Scope> = Effect.gen(function* () {
  const current = new AsyncLocalStorage<Guarded>()
  const watched = new Set<Guarded>()

  const ownerOf = (error: unknown): Guarded | undefined => {
    const running = current.getStore()
    if (running !== undefined) return running
    const stack = stackOf(error)
    return [...watched].find(({ folder }) => stack.includes(`${pathToFileURL(folder).href}/`))
  }

  const listeners = kinds.map((kind) => {
    const listener = (error: unknown): void => {
      const owner = ownerOf(error)
      if (owner !== undefined) return owner.onStray(wordsOf(error))
      if (process.listenerCount(kind) > 1) return
      // Without us Node would end the process. It is to do that as if we had never listened.
      release()
      setImmediate(() => {
        throw error
      })
    }
    return { kind, listener }
  })
  const release = () => {
    for (const { kind, listener } of listeners) process.off(kind, listener)
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const { kind, listener } of listeners) process.on(kind, listener)
    }),
    () => Effect.sync(release)
  )

  return {
    watch: (guarded) =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => watched.add(guarded)),
          () => Effect.sync(() => watched.delete(guarded))
        ),
        (code) => current.run(guarded, code)
      )
  }
})
