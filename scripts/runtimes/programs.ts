import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { promisify } from "node:util"

/** A command that runs a program of JavaScript or TypeScript. */
export interface Runtime {
  readonly name: string
  readonly command: ReadonlyArray<string>
  /** The signal that ends its programs; without it they end when their stdin ends. */
  readonly stopSignal?: NodeJS.Signals
}

/** Milliseconds for a program to start, to run, or to end. */
const timeout = 120_000

/** Runs programs in the folder of a project. */
export const programsIn = (cwd: string) => {
  const split = ({ command: [command = "", ...flags] }: Runtime, args: ReadonlyArray<string>) =>
    [command, [...flags, ...args]] as const
  return {
    /** Runs a program to its end; gives its output. Rejects when it fails. */
    run: async (runtime: Runtime, ...args: ReadonlyArray<string>): Promise<string> => {
      const [command, rest] = split(runtime, args)
      return (await promisify(execFile)(command, rest, { cwd, timeout })).stdout.trim()
    },
    /** Starts a program; gives its first line. Disposal ends it and waits for its end. */
    start: async (runtime: Runtime, ...args: ReadonlyArray<string>) => {
      const [command, rest] = split(runtime, args)
      const child: ChildProcess = spawn(command, rest, { cwd, stdio: ["pipe", "pipe", "inherit"] })
      const exited = once(child, "exit")
      const killLater = () => setTimeout(() => child.kill("SIGKILL"), timeout)
      const stop = async () => {
        if (runtime.stopSignal === undefined) child.stdin?.end()
        else child.kill(runtime.stopSignal)
        const killing = killLater()
        const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null]
        clearTimeout(killing)
        if (code !== 0 && signal !== runtime.stopSignal) {
          throw new Error(`${runtime.name} ${args.join(" ")} ended with ${code ?? signal}`)
        }
      }
      const lines = child.stdout === null ? undefined : createInterface(child.stdout)
      const starting = killLater()
      const [line] = (await Promise.race([lines === undefined ? exited : once(lines, "line"), exited])) as [unknown]
      clearTimeout(starting)
      if (typeof line !== "string") throw new Error(`${runtime.name} ${args.join(" ")} ended before it was ready`)
      return { line, [Symbol.asyncDispose]: stop }
    }
  }
}
