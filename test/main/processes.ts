import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { leash } from "../leash.ts"
import { bundledCommand } from "../programs/bundleCommand.ts"

/** The file of the `a2c` command. Vitest bundles it before the tests start. */
export const cli = bundledCommand

/** The same command from its sources: it shares Effect with packs, while the bundle has a separate copy. */
export const sourceCli = fileURLToPath(new URL("../../src/main/cli/a2c.ts", import.meta.url))

/** A child process of a test and its output. */
export interface Cli {
  readonly pid: number
  /** Writes a line to stdin. */
  readonly types: (line: string) => Effect.Effect<void>
  readonly closesStdin: Effect.Effect<void>
  readonly stdout: () => string
  readonly stderr: () => string
  /** Waits for a line with this text, or for several, and returns the last one. */
  readonly says: (text: string, where?: "stdout" | "stderr", times?: number) => Effect.Effect<string>
  /** Stops reading its output, as `head` does. */
  readonly readNoMore: (where: "stdout" | "stderr") => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
  /** The exit code or the signal. */
  readonly ended: Effect.Effect<number | string>
}

/** The environment of the commands without variables that change their behaviour. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("A2C_"))),
  // Sockets of shared offices: killed processes leave them behind.
  XDG_RUNTIME_DIR: join(tmpdir(), "a2c-tests")
}

/** Runs a program with these arguments and variables. The process is killed when the scope closes. */
export const program = (
  file: string,
  args: ReadonlyArray<string>,
  variables: { readonly [name: string]: string } = {},
  cwd = process.cwd()
): Effect.Effect<Cli, never, Scope.Scope> =>
  Effect.gen(function* () {
    const ended = yield* Deferred.make<number | string>()
    const out = { stdout: "", stderr: "" }
    const waiting = new Set<() => void>()
    const child: ChildProcess = yield* Effect.acquireRelease(
      Effect.sync(() => leash(spawn(file, [...args], { cwd, env: { ...environment, ...variables }, stdio: "pipe" }))),
      (one) => Effect.sync(() => one.kill("SIGKILL"))
    )
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => {
        out[name] += chunk
        for (const look of waiting) look()
      })
    }
    // A line to an ended process is lost; its end is reported separately.
    child.stdin?.on("error", () => undefined)
    child.on("close", (code, signal) => {
      Deferred.doneUnsafe(ended, Exit.succeed(code ?? signal ?? "?"))
      for (const look of waiting) look()
    })
    return {
      pid: child.pid ?? 0,
      types: (line) => Effect.sync(() => void child.stdin?.write(`${line}\n`)),
      closesStdin: Effect.sync(() => void child.stdin?.end()),
      stdout: () => out.stdout,
      stderr: () => out.stderr,
      says: (text, where = "stdout", times = 1) =>
        Effect.callback<string>((resume) => {
          const look = () => {
            const line = out[where].split("\n").filter((one) => one.includes(text))[times - 1]
            if (line !== undefined) resume(Effect.succeed(line))
            else if (Deferred.isDoneUnsafe(ended)) {
              resume(
                Effect.die(new Error(`the process ended without printing "${text}":\n${out.stdout}\n${out.stderr}`))
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

/** Runs Node as {@link program} does. */
export const node = (
  args: ReadonlyArray<string>,
  ...more: [variables?: { readonly [name: string]: string }, cwd?: string]
): Effect.Effect<Cli, never, Scope.Scope> => program(process.execPath, args, ...more)

/** Starts `a2c` with these arguments. The process is killed when the scope closes. */
export const a2c = (...args: ReadonlyArray<string>): Effect.Effect<Cli, never, Scope.Scope> => node([cli, ...args])

/** A folder until the scope closes. */
export const temporaryFolder: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "a2c-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

/** A file in a separate folder until the scope closes. */
export const temporaryFile = (name: string, contents: string) =>
  Effect.map(temporaryFolder, (folder) => {
    const file = join(folder, name)
    writeFileSync(file, contents)
    return file
  })

/** Quotes a word for a shell. */
const shellWord = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

/**
 * Runs Node with these arguments on a pseudo-terminal, as its session leader. All output is in `stdout`, with the line
 * breaks of a terminal. Killing the process of the returned `pid` hangs the terminal up.
 */
export const onTerminal = (
  args: ReadonlyArray<string>,
  variables: { readonly [name: string]: string } = {}
): Effect.Effect<Cli, never, Scope.Scope> => {
  const command = ["exec", ...[process.execPath, ...args].map(shellWord)].join(" ")
  return program("script", ["--quiet", "--flush", "--return", "--command", command, "/dev/null"], {
    ...variables,
    SHELL: "/bin/sh"
  })
}
