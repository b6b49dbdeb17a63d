import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { asObject, asString, type JsonObject } from "../../src/domain/json.ts"
import { guardChild } from "../childGuard.ts"
import { type OfficeEvent, type EventLog, makeEventLog } from "./EventLog.ts"
import { PartError } from "./members.ts"

/** A child process that runs a part of a peer, and takes commands as JSON lines. */
export interface Driver {
  readonly events: EventLog
  readonly request: (command: string, fields?: JsonObject) => Effect.Effect<unknown, PartError>
}

interface DriverOptions {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly variables: { readonly [name: string]: string }
  /** Receives each line of stderr. */
  readonly onLog: (line: string) => void
}

/** Kept lines of stderr. */
const keptLines = 15

/** The variables of the environment that programs need. Others could change the behaviour of the packages. */
const inheritedVariables = ["PATH", "LANG", "LC_ALL", "TMPDIR"]

const environment = Object.fromEntries(
  inheritedVariables.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
)

const killGroup = (group: number | undefined): void => {
  if (group === undefined) return
  try {
    process.kill(-group, "SIGKILL")
  } catch {
    // The group has ended.
  }
}

const parseLine = (line: string): JsonObject => {
  try {
    return asObject(JSON.parse(line))
  } catch {
    return {}
  }
}

const toPartError = (value: unknown): PartError => {
  const { code, message } = asObject(value)
  return new PartError({ message: asString(message) ?? "unknown", ...(typeof code === "number" && { code }) })
}

/** Starts a driver in its own process group, which is killed when the scope closes. Waits until it is ready. */
export const startDriver = Effect.fnUntraced(function* ({
  args,
  command,
  cwd,
  onLog,
  variables
}: DriverOptions): Effect.fn.Return<Driver, PartError, Scope.Scope> {
  const events = makeEventLog()
  const ready = yield* Deferred.make<void, PartError>()
  const pending = new Map<number, Deferred.Deferred<unknown, PartError>>()
  const lastLines: Array<string> = []
  let nextId = 0
  let isClosed = false

  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      guardChild(
        spawn(command, [...args], {
          cwd,
          env: { ...environment, ...variables },
          stdio: ["pipe", "pipe", "pipe"],
          detached: true
        })
      )
    ),
    ({ pid }) =>
      Effect.sync(() => {
        isClosed = true
        killGroup(pid)
      })
  )
  // A command to an ended driver fails by its end.
  child.stdin.on("error", () => undefined)

  const settle = (id: unknown, exit: Exit.Exit<unknown, PartError>) => {
    if (typeof id !== "number") return
    const waiting = pending.get(id)
    pending.delete(id)
    if (waiting !== undefined) Deferred.doneUnsafe(waiting, exit)
  }
  const failAll = (reason: string) => {
    const error = new PartError({ message: `${reason}\n${lastLines.join("\n")}`.trim() })
    Deferred.doneUnsafe(ready, Exit.fail(error))
    for (const id of pending.keys()) settle(id, Exit.fail(error))
  }
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { error, event, id, name, value } = parseLine(line)
    if (event === "ready") return void Deferred.doneUnsafe(ready, Exit.void)
    if (typeof event === "string") {
      return events.add({ kind: event as OfficeEvent["kind"], name: asString(name) ?? "" })
    }
    settle(id, error === undefined ? Exit.succeed(value) : Exit.fail(toPartError(error)))
  })
  createInterface({ input: child.stderr }).on("line", (line) => {
    onLog(line)
    lastLines.push(line)
    if (lastLines.length > keptLines) lastLines.shift()
  })
  child.on("error", (error) => failAll(error.message))
  child.on("exit", (code, signal) => isClosed || failAll(`the driver ended (${code ?? signal})`))

  yield* Deferred.await(ready)
  return {
    events,
    request: Effect.fnUntraced(function* (todo: string, fields: JsonObject = {}) {
      const id = nextId++
      const answer = yield* Deferred.make<unknown, PartError>()
      pending.set(id, answer)
      child.stdin.write(`${JSON.stringify({ id, do: todo, ...fields })}\n`)
      if (child.exitCode !== null) settle(id, Exit.fail(new PartError({ message: "the driver has ended" })))
      return yield* Deferred.await(answer)
    })
  }
})
