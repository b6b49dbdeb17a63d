import { AsyncLocalStorage } from "node:async_hooks"
import { pathToFileURL } from "node:url"
import { Effect, Predicate, Result, type Scope } from "effect"
import type { EnterPackCode } from "../execution/runPackCode.ts"
import { thrownMessage } from "../execution/thrown.ts"

interface GuardedPack {
  /** Absolute path. */
  readonly folder: string
  readonly onUncaught: (message: string) => void
}

/** Contains uncaught errors of packs, such as those in timers and unhandled rejections. */
export interface UncaughtErrorGuard {
  /** Registers a pack until the scope closes; code entered through the result belongs to it. */
  readonly protect: (guarded: GuardedPack) => Effect.Effect<EnterPackCode, never, Scope.Scope>
}

const errorEvents = ["uncaughtException", "unhandledRejection"] as const

/** Getters of foreign objects can throw. */
const safeStack = (error: unknown): string =>
  Result.getOrElse(
    Result.try(() => (Predicate.hasProperty(error, "stack") && typeof error.stack === "string" ? error.stack : "")),
    () => ""
  )

/**
 * Makes a guard until the scope closes. Attributes an error to a pack by its async context, else by its stack; any
 * other error goes to other listeners, or to Node, which ends the process.
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
      // Restores the default of Node, which ends the process.
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
