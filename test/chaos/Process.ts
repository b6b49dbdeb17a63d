import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Deferred, Effect, Exit, Latch, type Scope } from "effect"
import { guardChild } from "../childGuard.ts"

/** A child process. */
export interface Process {
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** Sends an IPC message. */
  readonly send: (message: object) => Effect.Effect<void>
  /** The exit code or the signal. */
  readonly ended: Effect.Effect<number | string>
  /** The last lines of stderr. */
  readonly lastWords: () => string
}

interface ProcessOptions {
  readonly variables?: { readonly [name: string]: string }
  /** Receives each line of stdout. */
  readonly onLine?: (line: string) => void
  /** Receives each line of stderr. */
  readonly onError?: (line: string) => void
  /** Receives each IPC message. */
  readonly onMessage?: (message: unknown) => void
}

/** Kept lines of stderr. */
const keptLines = 20

/** The environment without variables that change the behaviour of the programs. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("A2C_")))

/** Runs Node with these arguments. The process is killed when the scope closes, and when this process ends. */
export const startNode = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  { onError, onLine = () => undefined, onMessage, variables = {} }: ProcessOptions = {}
): Effect.fn.Return<Process, never, Scope.Scope> {
  const ended = yield* Deferred.make<number | string>()
  const words: Array<string> = []
  const child: ChildProcess = yield* Effect.acquireRelease(
    Effect.sync(() =>
      guardChild(
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
    // An ended process accepts no messages.
    send: (message) => Effect.sync(() => void child.send?.(message, () => undefined)),
    ended: Deferred.await(ended),
    lastWords: () => words.join("\n")
  }
})

/** A process that is restarted when it ends, as by a process supervisor. */
export interface Kept {
  readonly current: () => Process | undefined
  /** The start of the running process, in milliseconds since the start of this one. */
  readonly startedAt: () => number | undefined
  /** Kills the process; it stays stopped until `revive`. */
  readonly kill: Effect.Effect<void>
  readonly revive: Effect.Effect<void>
  readonly pause: Effect.Effect<void>
  readonly resume: Effect.Effect<void>
  /** Exit codes and signals of unexpected ends. */
  readonly deaths: ReadonlyArray<string>
}

/** Delay before a restart, as of a process supervisor. */
const restartPause = "1 second"

/** Keeps a process running until the scope closes. */
export const keepRunning = Effect.fnUntraced(function* (
  start: Effect.Effect<Process, never, Scope.Scope>,
  onEnd: () => void = () => undefined
): Effect.fn.Return<Kept, never, Scope.Scope> {
  const wanted = yield* Latch.make(true)
  const deaths: Array<string> = []
  let current: Process | undefined
  let startedAt: number | undefined
  const once = Effect.gen(function* () {
    const one = yield* start
    current = one
    startedAt = performance.now()
    const how = yield* one.ended
    current = undefined
    startedAt = undefined
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
    startedAt: () => startedAt,
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
