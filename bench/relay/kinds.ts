import { type Child, startChild } from "./Child.ts"

/** A server under measurement, of one process or of several. */
export interface Running {
  /** Where Agents connect, like `127.0.0.1:1234`. */
  readonly agents: string
  /** Where Computers connect; another node than that of the Agents when calls shall cross nodes. */
  readonly computers: string
  /** Every process whose CPU time and memory count. */
  readonly children: ReadonlyArray<Child>
  readonly stop: () => Promise<void>
}

/** A kind of server that can be measured, and the wire that is spoken with it. */
export interface ServerKind {
  /** How it is called in results. */
  readonly name: string
  readonly wire: "socketIo" | "prefix"
  readonly start: () => Promise<Running>
}

const oneProcess = (name: string, wire: ServerKind["wire"], script: string): ServerKind => ({
  name,
  wire,
  start: async () => {
    const child = await startChild(script)
    return { agents: child.address, computers: child.address, children: [child], stop: child.stop }
  }
})

/** What everything else is divided by: plain Socket.IO. */
export const sio = oneProcess("sio", "socketIo", "socketIo.ts")

/** Our own Server. */
export const a2c = oneProcess("a2c", "socketIo", "a2c.ts")

/** A bare relay on WebSocket: the floor. */
export const ws = oneProcess("ws", "prefix", "prefix.ts")

/** A second one of the reference: its ratios say how far the benchmark itself can be trusted. */
export const self: ServerKind = { ...sio, name: "self" }

/** CPU time that all processes of a server have used so far, in microseconds. */
export const cpuOf = async ({ children }: Running): Promise<number> => {
  const used = await Promise.all(children.map(({ cpu }) => cpu()))
  return used.reduce((sum, micros) => sum + micros, 0)
}

/** Memory of all processes of a server, in bytes, after a collection. */
export const memoryOf = async ({ children }: Running) => {
  const all = await Promise.all(children.map(({ memory }) => memory()))
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0)
  return { rss: sum(({ rss }) => rss), heap: sum(({ heap }) => heap) }
}
