import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { leash } from "../leash.ts"

/** The file that is `a2c`. */
export const cli = fileURLToPath(new URL("../../src/main/cli/a2c.ts", import.meta.url))

/** A process that was started by a test, and what it has said so far. */
export interface Cli {
  readonly pid: number
  /** Writes a line to its standard input. */
  readonly types: (line: string) => Effect.Effect<void>
  readonly stdout: () => string
  readonly stderr: () => string
  /** Waits for a line that holds this text, or for so many of them, and gives the last one. */
  readonly says: (text: string, where?: "stdout" | "stderr", times?: number) => Effect.Effect<string>
  /** Reads no more of what it says, as `head` does that has seen enough. */
  readonly readNoMore: (where: "stdout" | "stderr") => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** What it ended with: a code, or the name of a signal. */
  readonly ended: Effect.Effect<number | string>
}

/** Environment of the commands: nothing of ours that would change what they do. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith("A2C_"))
)

/** Runs Node with these arguments and variables; the process is killed with the scope if it still runs. */
export const node = (
  args: ReadonlyArray<string>,
  variables: { readonly [name: string]: string } = {},
  cwd = process.cwd()
): Effect.Effect<Cli, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ended = yield* Deferred.make<number | string>()
    const out = { stdout: "", stderr: "" }
    const waiting = new Set<() => void>()
    const child: ChildProcess = yield* Effect.acquireRelease(
      Effect.sync(() =>
        leash(
          spawn(process.execPath, [...args], { cwd, env: { ...environment, ...variables }, stdio: "pipe" })
        )
      ),
      (one) => Effect.sync(() => one.kill("SIGKILL"))
    )
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
        out[name] += chunk
        for (const look of waiting) look()
      })
    }
    // A line for a process that has ended is lost; whoever waits for its answer hears of the end.
    child.stdin?.on("error", () => undefined)
    child.on("close", (code, signal) => {
      Deferred.doneUnsafe(ended, Exit.succeed(code ?? signal ?? "?"))
      for (const look of waiting) look()
    })
    return {
      pid: child.pid ?? 0,
      types: (line) => Effect.sync(() => void child.stdin?.write(`${line}\n`)),
      stdout: () => out.stdout,
      stderr: () => out.stderr,
      says: (text, where = "stdout", times = 1) =>
        Effect.callback<string>((resume) => {
          const look = () => {
            const line = out[where].split("\n").filter((one) => one.includes(text))[times - 1]
            if (line !== undefined) resume(Effect.succeed(line))
            else if (Deferred.isDoneUnsafe(ended)) {
              resume(
                Effect.die(new Error(`it ended without saying "${text}":\n${out.stdout}\n${out.stderr}`))
              )
            }
          }
          waiting.add(look)
          look()
          return Effect.sync(() => waiting.delete(look))
        }),
      readNoMore: (where) => Effect.sync(() => void child[where]?.destroy()),
      signal: (signal) => Effect.sync(() => void child.kill(signal)),
      ended: Deferred.await(ended)
    }
  })

/** Starts `a2c` with these arguments; it is killed with the scope if it still runs. */
export const a2c = (...args: ReadonlyArray<string>): Effect.Effect<Cli, never, Scope.Scope> =>
  node([cli, ...args])

/** A folder that goes with the scope. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "a2c-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** A file in a folder of its own that goes with the scope. */
export const temporaryFile = (name: string, contents: string) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = join(folder, name)
    writeFileSync(file, contents)
    return file
  })
