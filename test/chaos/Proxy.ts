import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { Effect, type Scope } from "effect"

/** A way over TCP that can be disturbed. What stands at its other end may change; connections do not move along. */
export interface Proxy {
  readonly port: number
  /** How many connections there are that carry something, and how many that carry nothing any more. */
  readonly connections: () => { readonly carrying: number; readonly silent: number }
  /** Resets every connection and refuses new ones, until `heal`. */
  readonly cut: Effect.Effect<void>
  /** Lets everything come so many milliseconds later, until `heal`. */
  readonly slow: (millis: number) => Effect.Effect<void>
  /** Lets no more than so many bytes pass in a second, each way of each connection, until `heal`. */
  readonly narrow: (bytesPerSecond: number) => Effect.Effect<void>
  /** Carries nothing, new connections included, until `heal`; then everything comes that has been sent meanwhile. */
  readonly hold: Effect.Effect<void>
  /** Ends the disturbances above. */
  readonly heal: Effect.Effect<void>
  /** Resets the connections at the near end only: the far end hears nothing any more, not even that. */
  readonly halfOpen: Effect.Effect<void>
  /** Whatever is connected carries nothing any more, in neither direction, and nobody is told. New connections work. */
  readonly silence: Effect.Effect<void>
}

/** Sees what comes from the far end of one connection. */
type Look = (chunk: Buffer) => void

/** What a proxy is made of. */
interface ProxyOptions {
  /** The port on this machine to which new connections go; nothing while there is nobody. */
  readonly target: () => number | undefined
  /** Called for every connection. */
  readonly watch?: () => Look
}

/** What holds on the way at the moment. */
interface Conditions {
  delay: number
  /** Bytes in a second. */
  rate: number
  held: boolean
  isCut: boolean
}

const undisturbed: Conditions = { delay: 0, rate: Number.POSITIVE_INFINITY, held: false, isCut: false }

/** How long what passes at once on a narrow way may take, in seconds. */
const pieceTime = 0.02

/** Cuts what has come into what passes at once. */
const cut = (chunk: Buffer, rate: number): ReadonlyArray<Buffer> => {
  const size = Math.max(1, Math.min(chunk.length, Math.floor(rate * pieceTime)))
  return Array.from({ length: Math.ceil(chunk.length / size) }, (_, index) =>
    chunk.subarray(index * size, (index + 1) * size)
  )
}

/** Both ends of what is one connection to whoever uses it. */
interface Pair {
  readonly near: Socket
  readonly far: Socket
  /** True from when nothing is carried any more and neither end is told anything. */
  silent: boolean
}

interface Waiting {
  readonly due: number
  readonly go: () => void
}

/** Does things in the order they came, each not before it is due. */
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

/** Carries what one end sends to the other. */
const carry = (from: Socket, to: Socket, pair: Pair, conditions: Conditions, look: Look | undefined) => {
  const line = makeLine()
  const later = (go: () => void, passing = 0) =>
    line.add(conditions.delay + passing, () => pair.silent || go())
  const goOn = () => {
    if (!conditions.held && !pair.silent) from.resume()
  }
  /** When what has come before will have passed. */
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
  // A reset at one end is one at the other; an end in order has been carried already.
  from.on("close", (failed) => {
    if (pair.silent) return line.clear()
    if (failed) later(() => void to.resetAndDestroy())
  })
}

const listening = (server: ReturnType<typeof createServer>) =>
  Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

/** Opens a way on a free port of this machine; it closes with the scope, and all connections with it. */
export const openProxy = Effect.fnUntraced(function* ({
  target,
  watch
}: ProxyOptions): Effect.fn.Return<Proxy, never, Scope.Scope> {
  const conditions: Conditions = { ...undisturbed }
  const pairs = new Set<Pair>()
  const sockets = new Set<Socket>()

  const own = (socket: Socket, pair: () => Pair | undefined) => {
    sockets.add(socket)
    // What went wrong is told to the other end when it closes.
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
    const far = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true })
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
    // Read no more: what is sent piles up where it came from, as on a way that is gone.
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
