import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Deferred, Effect, Exit, Latch, type Scope } from "effect"
import { leash } from "../leash.ts"

/** A process of ours. */
export interface Process {
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Sends it a message, if it was started to take some. */
  readonly send: (message: object) => Effect.Effect<void>
  /** What it ended with: a code, or the name of a signal. */
  readonly ended: Effect.Effect<number | string>
  /** The last lines on its stderr. */
  readonly lastWords: () => string
}

interface ProcessOptions {
  readonly variables?: { readonly [name: string]: string }
  /** Hears every line of its stdout. */
  readonly onLine?: (line: string) => void
  /** Hears every line of its stderr. */
  readonly onError?: (line: string) => void
  /** Hears what it sends us. */
  readonly onMessage?: (message: unknown) => void
}

/** How many lines of stderr are kept. */
const keptLines = 20

/** What processes find in their environment: nothing of ours that would change what they do. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("A2C_"))
)

/** Runs Node with these arguments; the process is killed with the scope if it still runs, and with us. */
export const startNode = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  { onError, onLine = () => undefined, onMessage, variables = {} }: ProcessOptions = {}
): Effect.fn.Return<Process, never, Scope.Scope> {
  const ended = yield* Deferred.make<number | string>()
  const words: Array<string> = []
  const child: ChildProcess = yield* Effect.acquireRelease(
    Effect.sync(() =>
      leash(
        spawn(process.execPath, [...args], {
          env: { ...environment, ...variables },
          stdio: ["ignore", "pipe", "pipe", ...(onMessage === undefined ? [] : (["ipc"] as const))]
        })
      )
    ),
    (one) => Effect.sync(() => one.kill("SIGKILL"))
  )
  if (child.stdout !== null) createInterface(child.stdout).on("line", onLine)
  if (child.stderr !== null) {
    createInterface(child.stderr).on("line", (line) => {
      onError?.(line)
      words.push(line)
      if (words.length > keptLines) words.shift()
    })
  }
  if (onMessage !== undefined) child.on("message", onMessage)
  child.on("exit", (code, signal) => Deferred.doneUnsafe(ended, Exit.succeed(code ?? signal ?? "?")))
  return {
    pid: child.pid ?? 0,
    signal: (signal) => Effect.sync(() => void child.kill(signal)),
    // Whoever has just ended takes no messages.
    send: (message) => Effect.sync(() => void child.send?.(message, () => undefined)),
    ended: Deferred.await(ended),
    lastWords: () => words.join("\n")
  }
})

/** A process that is started again whenever it has ended, as operators have it done. */
export interface Kept {
  readonly current: () => Process | undefined
  /** Ends it at once; it stays away until `revive`. */
  readonly kill: Effect.Effect<void>
  readonly revive: Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** How it ended by itself, each time. */
  readonly deaths: ReadonlyArray<string>
}

/** How long it takes until somebody notices that a process has ended. */
const restartPause = "1 second"

/** Keeps a process running for as long as the scope. */
export const keepRunning = Effect.fnUntraced(function* (
  start: Effect.Effect<Process, never, Scope.Scope>,
  onEnd: () => void = () => undefined
): Effect.fn.Return<Kept, never, Scope.Scope> {
  const wanted = yield* Latch.make(true)
  const deaths: Array<string> = []
  let current: Process | undefined
  const once = Effect.gen(function* () {
    const one = yield* start
    current = one
    const how = yield* one.ended
    current = undefined
    onEnd()
    if (Latch.isOpen(wanted)) {
      deaths.push(`${how}: ${one.lastWords()}`)
      yield* Effect.sleep(restartPause)
    }
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(wanted.await, Effect.scoped(once))))
  const signal = (name: NodeJS.Signals) => Effect.suspend(() => current?.signal(name) ?? Effect.void)
  return {
    current: () => current,
    kill: Effect.andThen(
      wanted.close,
      Effect.suspend(() => {
        const one = current
        return one === undefined ? Effect.void : Effect.andThen(one.signal("SIGKILL"), one.ended)
      })
    ),
    revive: Effect.asVoid(wanted.open),
    pause: signal("SIGSTOP"),
    resume: signal("SIGCONT"),
    deaths
  }
})
