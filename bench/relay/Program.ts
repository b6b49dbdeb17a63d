import { spawn } from "node:child_process"
import { once } from "node:events"
import { createInterface } from "node:readline"
import { guardChild } from "../../test/childGuard.ts"
import { residentMegabytes } from "../residentMemory.ts"
import type { Child } from "./Child.ts"
import { timeout } from "./limits.ts"
import { pin, processors } from "./pinning.ts"
import { cpuTimeReader } from "./processTime.ts"

/** A program whose first line on stdout ends with its address. */
export interface Program {
  /** Its name in errors. */
  readonly name: string
  readonly file: string
  readonly args: ReadonlyArray<string>
  readonly environment?: { readonly [name: string]: string }
}

/**
 * Starts a measured server that knows no orders, and ends with this process; Linux only. Its memory is the resident
 * memory, without a garbage collection before. Rejects when it does not listen in time.
 */
export const startProgram = async ({ args, environment, file, name }: Program): Promise<Child> => {
  if (process.platform !== "linux") throw new Error(`${name} needs /proc, which only Linux has`)
  const child = guardChild(
    spawn(file, args, { env: { ...process.env, ...environment }, stdio: ["ignore", "pipe", "pipe"] })
  )
  const { pid } = child
  if (pid !== undefined) pin(pid, processors.servers)

  const listening = Promise.withResolvers<string>()
  // Only for errors: a server with default flags logs every member.
  let lastError = ""
  createInterface(child.stderr).on("line", (line) => {
    lastError = line
  })
  createInterface(child.stdout).once("line", listening.resolve)
  child.once("error", (error) => listening.reject(new Error(`${file}: ${error.message}`)))
  child.once("close", () => listening.reject(new Error(`${name} exited before it listened: ${lastError}`)))
  const timer = setTimeout(() => {
    listening.reject(new Error(`${name} did not listen within ${timeout} ms`))
    child.kill("SIGKILL")
  }, timeout)
  const line = await listening.promise.finally(() => clearTimeout(timer))
  const [address] = /127\.0\.0\.1:\d+$/.exec(line) ?? []
  if (pid === undefined || address === undefined) {
    child.kill("SIGKILL")
    throw new Error(`${name} printed "${line}" instead of its address`)
  }

  const hasExited = () => child.exitCode !== null || child.signalCode !== null
  const running = async <A>(read: () => A): Promise<A> => {
    if (hasExited()) throw new Error(`${name} exited unexpectedly: ${lastError}`)
    return read()
  }
  const readCpuTime = cpuTimeReader(pid)
  const noProfile = () => Promise.reject(new Error(`${name} has no CPU profile`))
  return {
    address,
    pid,
    cpu: () => running(readCpuTime),
    memory: () => running(() => ({ rss: residentMegabytes(pid) * 2 ** 20, heap: Number.NaN })),
    startProfile: noProfile,
    stopProfile: noProfile,
    stop: async () => {
      if (hasExited()) return
      const ended = once(child, "exit")
      const killing = setTimeout(() => void child.kill("SIGKILL"), timeout)
      child.kill("SIGTERM")
      await ended
      clearTimeout(killing)
    }
  }
}
