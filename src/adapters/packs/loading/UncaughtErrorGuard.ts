import { AsyncLocalStorage } from "node:async_hooks"
import { pathToFileURL } from "node:url"
import { Effect, Predicate, Result, type Scope } from "effect"
import type { EnterPackCode } from "../execution/runPackCode.ts"
import { thrownMessage } from "../execution/thrown.ts"

/** A pack whose code runs in this thread. */
interface GuardedPack {
  /** Its folder, by absolute path. */
  readonly folder: string
  /** Hears what code of the pack threw where nobody catches. */
  readonly onUncaught: (message: string) => void
}

/** Keeps this thread alive when code of a pack throws where nobody catches: in a timer, or in a forgotten promise. */
export interface UncaughtErrorGuard {
  /** How code of this pack is entered; it is watched for as long as the scope. */
  readonly protect: (guarded: GuardedPack) => Effect.Effect<EnterPackCode, never, Scope.Scope>
}

const errorEvents = ["uncaughtException", "unhandledRejection"] as const

/** What a stranger throws may throw itself when it is looked at. */
const safeStack = (error: unknown): string =>
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
export const make: Effect.Effect<UncaughtErrorGuard, never, Scope.Scope> = Effect.gen(function* () {
  const currentPack = new AsyncLocalStorage<GuardedPack>()
  const guardedPacks = new Set<GuardedPack>()

  const ownerOf = (error: unknown): GuardedPack | undefined => {
    const running = currentPack.getStore()
    if (running !== undefined) return running
    const stack = safeStack(error)
    return [...guardedPacks].find(({ folder }) => stack.includes(`${pathToFileURL(folder).href}/`))
  }

  const listeners = errorEvents.map((event) => {
    const listener = (error: unknown): void => {
      const owner = ownerOf(error)
      if (owner !== undefined) return owner.onUncaught(thrownMessage(error))
      if (process.listenerCount(event) > 1) return
      // Without us Node would end the process. It is to do that as if we had never listened.
      release()
      setImmediate(() => {
        throw error
      })
    }
    return { event, listener }
  })
  const release = () => {
    for (const { event, listener } of listeners) process.off(event, listener)
  }

  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const { event, listener } of listeners) process.on(event, listener)
    }),
    () => Effect.sync(release)
  )

  return {
    protect: (guarded) =>
      Effect.as(
        Effect.acquireRelease(
          Effect.sync(() => guardedPacks.add(guarded)),
          () => Effect.sync(() => guardedPacks.delete(guarded))
        ),
        (code) => currentPack.run(guarded, code)
      )
  }
})
