import { type ChildProcess, spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Exit, type Scope } from "effect"
import { guardChild } from "../childGuard.ts"
import { bundledCommand } from "../programs/bundleCommand.ts"
import { type CommandOutput, recordOutput } from "./output.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

/** The file of the `a2c` command. Vitest bundles it before the tests start. */
export const cli = bundledCommand

/** The same command from its sources. */
export const sourceCli = fileURLToPath(new URL("../../src/main/cli/a2c.ts", import.meta.url))

/** A child process of a test and its output. It ends with its exit code or signal. */
export interface Cli extends CommandOutput<number | string> {
  readonly pid: number
  /** Writes a line to stdin. */
  readonly types: (line: string) => Effect.Effect<void>
  readonly closesStdin: Effect.Effect<void>
  /** Stops reading its output, as `head` does. */
  readonly readNoMore: (where: "stdout" | "stderr") => Effect.Effect<void>
  readonly signal: (signal: NodeJS.Signals) => Effect.Effect<void>
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
    const { end, output, write } = recordOutput<number | string>()
    const child: ChildProcess = yield* Effect.acquireRelease(
      Effect.sync(() =>
        guardChild(spawn(file, [...args], { cwd, env: { ...environment, ...variables }, stdio: "pipe" }))
      ),
      (one) => Effect.sync(() => one.kill("SIGKILL"))
    )
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (chunk: string) => write(name, chunk))
    }
    // A line to an ended process is lost; its end is reported separately.
    child.stdin?.on("error", () => undefined)
    child.on("close", (code, signal) => end(Exit.succeed(code ?? signal ?? "?")))
    return {
      ...output,
      pid: child.pid ?? 0,
      types: (line) => Effect.sync(() => void child.stdin?.write(`${line}\n`)),
      closesStdin: Effect.sync(() => void child.stdin?.end()),
      readNoMore: (where) => Effect.sync(() => void child[where]?.destroy()),
      signal: (signal) => Effect.sync(() => void child.kill(signal))
    }
  })

/** Runs Node as {@link program} does. */
export const node = (
  args: ReadonlyArray<string>,
  ...more: [variables?: { readonly [name: string]: string }, cwd?: string]
): Effect.Effect<Cli, never, Scope.Scope> => program(process.execPath, args, ...more)

/** Starts `a2c` with these arguments. The process is killed when the scope closes. */
export const a2c = (...args: ReadonlyArray<string>): Effect.Effect<Cli, never, Scope.Scope> => node([cli, ...args])

/** The exit code or signal of a command that ends, and its output. */
export const outcomeOf = (process: Cli) =>
  Effect.map(process.ended, (code) => ({ code, stdout: process.stdout(), stderr: process.stderr() }))

/** Runs `a2c` with these arguments until it ends. */
export const run = (...args: ReadonlyArray<string>) => Effect.flatMap(a2c(...args), outcomeOf)

/** The URL that a starting Server prints. */
export const urlOf = ({ prints }: Cli) =>
  Effect.map(prints("listening on "), (line) => line.replace("listening on ", ""))

/** Starts a Server at a free port, and returns its process and its URL. */
export const startServer = Effect.fnUntraced(function* (
  args: ReadonlyArray<string> = [],
  variables: { readonly [name: string]: string } = {}
) {
  const process = yield* node([cli, "server", "--port", "0", ...args], variables)
  return { process, url: yield* urlOf(process) }
})

/** Starts a device gateway at a free port, and returns its process and the address for devices. */
export const startGateway = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const process = yield* a2c("devices", "gateway", "--tcp", "0", ...args)
  const [address = ""] = /127\.0\.0\.1:\d+/.exec(yield* process.prints("listening for devices")) ?? []
  return { process, address }
})

const require = createRequire(import.meta.url)

/** The program of MCP's server-everything, which has a tool for each feature. */
export const everythingServer = require.resolve("@modelcontextprotocol/server-everything/dist/index.js")

/** The program of MCP's server-memory, whose tools never change. */
export const memoryServer = require.resolve("@modelcontextprotocol/server-memory/dist/index.js")

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
