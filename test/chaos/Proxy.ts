import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** A TCP proxy with faults. Its target may change; open connections keep theirs. */
export interface Proxy {
  readonly port: number
  /** Number of relaying connections and of silent ones. */
  readonly connections: () => { readonly carrying: number; readonly silent: number }
  /** Resets all connections and refuses new ones until `heal`. */
  readonly cut: Effect.Effect<void>
  /** Delays data by this many milliseconds until `heal`. */
  readonly slow: (millis: number) => Effect.Effect<void>
  /** Limits the bytes per second of each direction of each connection until `heal`. */
  readonly narrow: (bytesPerSecond: number) => Effect.Effect<void>
  /** Holds back data and new connections until `heal`, then delivers all of it. */
  readonly hold: Effect.Effect<void>
  /** Ends the faults above. */
  readonly heal: Effect.Effect<void>
  /** Resets connections at the near end only: the far end receives nothing more, not even the reset. */
  readonly halfOpen: Effect.Effect<void>
  /** Silences all open connections in both directions without a notice to either end. New connections work. */
  readonly silence: Effect.Effect<void>
}

/** Receives the bytes from the far end of one connection. */
type Look = (chunk: Buffer) => void

/** Options of a proxy. */
interface ProxyOptions {
  /** The port for new connections; undefined without a target. */
  readonly target: () => number | undefined
  /** The address of the target; 127.0.0.1 by default. */
  readonly host?: string
  /** Called for each connection. */
  readonly watch?: () => Look
}

/** The active faults. */
interface Conditions {
  delay: number
  /** In bytes per second. */
  rate: number
  held: boolean
  isCut: boolean
}

const undisturbed: Conditions = { delay: 0, rate: Number.POSITIVE_INFINITY, held: false, isCut: false }

/** Maximum seconds that one chunk takes on a slow connection. */
const pieceTime = 0.02

/** Splits data into chunks. */
const cut = (chunk: Buffer, rate: number): ReadonlyArray<Buffer> => {
  const size = Math.max(1, Math.min(chunk.length, Math.floor(rate * pieceTime)))
  return Array.from({ length: Math.ceil(chunk.length / size) }, (_, index) =>
    chunk.subarray(index * size, (index + 1) * size)
  )
}

/** Both sockets of one connection. */
interface Pair {
  readonly near: Socket
  readonly far: Socket
  /** True once the connection relays nothing and notifies neither end. */
  silent: boolean
}

interface Waiting {
  readonly due: number
  readonly go: () => void
}

/** Runs callbacks in order, each not before its time. */
const makeLine = () => {
  const waiting: Array<Waiting> = []
  let timer: ReturnType<typeof setTimeout> | undefined
  const drain = () => {
    timer = undefined
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const left = first.due - performance.now()
      if (left > 0) {
        timer = setTimeout(drain, Math.ceil(left))
        return
      }
      waiting.shift()
      first.go()
    }
  }
  return {
    add: (delay: number, go: () => void) => {
      if (delay === 0 && waiting.length === 0) return go()
      waiting.push({ due: performance.now() + delay, go })
      if (timer === undefined) drain()
    },
    clear: () => {
      clearTimeout(timer)
      waiting.length = 0
    }
  }
}

/** Relays the bytes of one end to the other. */
const carry = (from: Socket, to: Socket, pair: Pair, conditions: Conditions, look: Look | undefined) => {
  const line = makeLine()
  const later = (go: () => void, passing = 0) => line.add(conditions.delay + passing, () => pair.silent || go())
  const goOn = () => {
    if (!conditions.held && !pair.silent) from.resume()
  }
  /** The time at which earlier bytes have passed. */
  let free = 0
  from.on("data", (chunk: Buffer) => {
    if (pair.silent) return
    look?.(chunk)
    const { rate } = conditions
    const isNarrow = Number.isFinite(rate)
    if (isNarrow) from.pause()
    const pieces = cut(chunk, rate)
    for (const piece of pieces) {
      const now = performance.now()
      free = Math.max(free, now) + (piece.length * 1000) / rate
      later(() => {
        const taken = to.destroyed || to.write(piece)
        if (isNarrow && piece !== pieces.at(-1)) return
        if (taken) {
          if (isNarrow) goOn()
        } else if (isNarrow || !from.isPaused()) {
          from.pause()
          to.once("drain", goOn)
        }
      }, free - now)
    }
  })
  from.on("end", () => later(() => to.end()))
  // Forwards a reset. An orderly close has been relayed already.
  from.on("close", (failed) => {
    if (pair.silent) return line.clear()
    if (failed) later(() => void to.resetAndDestroy())
  })
}

const listening = (server: ReturnType<typeof createServer>) =>
  Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/** Opens a proxy on a free local port until the scope closes. */
export const openProxy = Effect.fnUntraced(function* ({
  host = "127.0.0.1",
  target,
  watch
}: ProxyOptions): Effect.fn.Return<Proxy, never, Scope.Scope> {
  const conditions: Conditions = { ...undisturbed }
  const pairs = new Set<Pair>()
  const sockets = new Set<Socket>()

  const own = (socket: Socket, pair: () => Pair | undefined) => {
    sockets.add(socket)
    // The close event forwards the error to the other end.
    socket.on("error", () => undefined)
    socket.on("close", () => {
      sockets.delete(socket)
      const both = pair()
      if (both?.near.destroyed === true && both.far.destroyed) pairs.delete(both)
    })
  }

  const accept = (near: Socket) => {
    const port = conditions.isCut ? undefined : target()
    if (port === undefined) {
      near.on("error", () => undefined)
      return void near.resetAndDestroy()
    }
    const far = connect({ port, host, allowHalfOpen: true, noDelay: true })
    const pair: Pair = { near, far, silent: false }
    pairs.add(pair)
    near.setNoDelay(true)
    own(near, () => pair)
    own(far, () => pair)
    carry(near, far, pair, conditions, undefined)
    carry(far, near, pair, conditions, watch?.())
    if (conditions.held) far.pause()
    else near.resume()
  }

  const server = yield* Effect.acquireRelease(
    Effect.sync(() => createServer({ allowHalfOpen: true, pauseOnConnect: true }, accept)),
    (one) =>
      Effect.callback<void>((resume) => {
        one.close(() => resume(Effect.void))
        for (const socket of sockets) socket.destroy()
      })
  )
  const port = yield* listening(server)

  const sounding = () => [...pairs].filter(({ silent }) => !silent)
  const hush = (pair: Pair) => {
    pair.silent = true
    // Stops reading: data piles up at the sender, as with a lost network.
    pair.near.pause()
    pair.far.pause()
  }
  return {
    port,
    connections: () => {
      const carrying = sounding().length
      return { carrying, silent: pairs.size - carrying }
    },
    cut: Effect.sync(() => {
      conditions.isCut = true
      for (const { far, near } of sounding()) {
        near.resetAndDestroy()
        far.resetAndDestroy()
      }
    }),
    slow: (millis) =>
      Effect.sync(() => {
        conditions.delay = millis
      }),
    narrow: (bytesPerSecond) =>
      Effect.sync(() => {
        conditions.rate = bytesPerSecond
      }),
    hold: Effect.sync(() => {
      conditions.held = true
      for (const { far, near } of sounding()) {
        near.pause()
        far.pause()
      }
    }),
    heal: Effect.sync(() => {
      Object.assign(conditions, undisturbed)
      for (const { far, near } of sounding()) {
        near.resume()
        far.resume()
      }
    }),
    halfOpen: Effect.sync(() => {
      for (const pair of sounding()) {
        hush(pair)
        pair.near.resetAndDestroy()
      }
    }),
    silence: Effect.sync(() => sounding().forEach(hush))
  }
})
