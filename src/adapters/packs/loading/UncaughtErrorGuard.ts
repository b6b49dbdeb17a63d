import { AsyncLocalStorage } from "node:async_hooks"
import { pathToFileURL } from "node:url"
import { Effect, Predicate, Result, type Scope } from "effect"
import { type EnterPackCode, thrownMessage } from "../../tools/runPackCode.ts"

interface GuardedPack {
  /** Absolute path. */
  readonly folder: string
  readonly onUncaught: (message: string) => void
  /** The pack calls `process.exit`, which also ends the host. */
  readonly onExit: (code: number) => void
}

const errorEvents = ["uncaughtException", "unhandledRejection"] as const

/** Getters of foreign objects can throw. */
const safeStack = (error: unknown): unknown =>
  Result.getOrUndefined(Result.try(() => (Predicate.hasProperty(error, "stack") ? error.stack : undefined)))

/**
 * Contains uncaught errors of packs, such as those in timers and unhandled rejections, until the scope closes. Attributes an error to a pack by its async context, else by its stack; any
 * other error goes to other listeners, or to Node, which ends the process. Reports the pack that ends the process.
 */
export const make = Effect.gen(function* () {
  const currentPack = new AsyncLocalStorage<GuardedPack>()
  const guardedPacks = new Set<GuardedPack>()

  const ownerOf = (error: unknown): GuardedPack | undefined => {
    const running = currentPack.getStore()
    if (running !== undefined) return running
    const stack = safeStack(error)
    if (typeof stack !== "string") return undefined
    return [...guardedPacks].find(({ folder }) => stack.includes(`${pathToFileURL(folder).href}/`))
  }

  const reportExit = (code: number): void => ownerOf(new Error("exit"))?.onExit(code)
  const listeners = new Map(
    errorEvents.map((event) => [
      event,
      (error: unknown): void => {
        const owner = ownerOf(error)
        if (owner !== undefined) return owner.onUncaught(thrownMessage(error))
        if (process.listenerCount(event) > 1) return
        // Restores the default of Node, which ends the process.
        listen("off")
        setImmediate(() => {
          throw error
        })
      }
    ])
  )
  const listen = (change: "on" | "off") => {
    process[change]("exit", reportExit)
    for (const [event, listener] of listeners) process[change](event, listener)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => listen("on")),
    () => Effect.sync(() => listen("off"))
  )

  return {
    /** Registers a pack until the scope closes; code entered through the result belongs to it. */
    protect: (guarded: GuardedPack): Effect.Effect<EnterPackCode, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => {
          guardedPacks.add(guarded)
          return (code) => currentPack.run(guarded, code)
        }),
        () => Effect.sync(() => guardedPacks.delete(guarded))
      )
  }
})
