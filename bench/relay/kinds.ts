import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { builtCommand } from "./builtCommand.ts"
import { type Child, startChild } from "./Child.ts"
import type { Dialect } from "./peers/Dialect.ts"
import { startProgram } from "./Program.ts"

/** A measured server of one or more processes. */
export interface Running {
  /** The address for Agents, like `127.0.0.1:1234`. */
  readonly agents: string
  /** The address for Computers; another node than that of the Agents when calls cross nodes. */
  readonly computers: string
  /** The processes whose CPU time and memory count. */
  readonly children: ReadonlyArray<Child>
  readonly stop: () => Promise<void>
}

/** A kind of measured server, and its protocol. */
export interface ServerKind {
  /** Its name in results. */
  readonly name: string
  readonly wire: "socketIo" | "prefix"
  /** Default: that of our Server. */
  readonly dialect?: Dialect
  readonly start: () => Promise<Running>
}

/** A running server of one process. */
export const runningChild = (child: Child): Running => ({
  agents: child.address,
  computers: child.address,
  children: [child],
  stop: child.stop
})

const oneProcess = (
  name: string,
  wire: ServerKind["wire"],
  script: string,
  environment: { readonly [name: string]: string } = {}
): ServerKind => ({
  name,
  wire,
  start: async () => runningChild(await startChild(script, environment))
})

/** The reference: plain Socket.IO. */
export const sio = oneProcess("sio", "socketIo", "socketIo.ts")

/** The Server in a program of this benchmark, which knows orders. */
export const library = oneProcess("library", "socketIo", "a2c.ts")

const startCommand = async () => {
  const args = [builtCommand(), "server", "--port", "0"]
  return runningChild(await startProgram({ name: "a2c", file: process.execPath, args }))
}

/** The shipped command with default flags; elsewhere than on Linux, the library. */
export const a2c: ServerKind = {
  ...library,
  name: "a2c",
  ...(process.platform === "linux" && { start: startCommand })
}

/** The Server with the adapter on the package `socket.io`. */
export const stock = oneProcess("stock", "socketIo", "a2c.ts", { A2C_BENCH_ENGINE: "socket.io" })

/** The Server of another checkout. */
export const checkout = (name: string, folder: string): ServerKind =>
  oneProcess(name, "socketIo", pathToFileURL(resolve(folder, "bench/relay/servers/a2c.ts")).href)

/** A bare relay on WebSocket: the floor. */
export const ws = oneProcess("ws", "prefix", "prefix.ts")

/** A second reference: its ratios show the error of the benchmark. */
export const self: ServerKind = { ...sio, name: "self" }

/** CPU time of all processes of a server, in microseconds. */
export const cpuOf = async ({ children }: Running): Promise<number> => {
  const used = await Promise.all(children.map(({ cpu }) => cpu()))
  return used.reduce((sum, micros) => sum + micros, 0)
}

/** Memory of all processes of a server in bytes, after garbage collection. */
export const memoryOf = async ({ children }: Running) => {
  const all = await Promise.all(children.map(({ memory }) => memory()))
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0)
  return { rss: sum(({ rss }) => rss), heap: sum(({ heap }) => heap) }
}
