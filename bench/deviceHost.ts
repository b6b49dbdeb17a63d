/**
 * The measured end of bench/devices.ts in a separate process: a gateway, or a bare TCP server as the baseline. The parent
 * simulates the devices, and requests calls and memory values over IPC.
 */
import { createServer, type Socket } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Context, Effect, Layer, References } from "effect"
import { DeviceGateway } from "../src/application/devices/gateway/DeviceGateway.ts"
import { gatewayLayer } from "../src/main/layers/gatewayLayer.ts"

setFlagsFromString("--expose-gc")
const collect: () => void = runInNewContext("gc")

/** A request of the parent. */
export type Order =
  | { readonly _tag: "Memory" }
  /** Calls all devices in turn, with this concurrency. */
  | { readonly _tag: "Call"; readonly devices: number; readonly times: number; readonly atOnce: number }
  | { readonly _tag: "Stop" }

/** A reply to the parent. Memory in bytes, times in milliseconds. */
export type Report =
  | { readonly _tag: "Listening"; readonly port: number }
  | { readonly _tag: "Memory"; readonly rss: number; readonly heap: number }
  | {
      readonly _tag: "Called"
      readonly took: number
      readonly latencies: ReadonlyArray<number>
      readonly failures: ReadonlyArray<string>
    }

/** Calls the device of this number, counted from 1; fails with the reason when it does not reply. */
type Call = (device: number) => Effect.Effect<void, string>

interface Host {
  readonly port: number
  readonly call: Call
}

const gateway = Effect.gen(function* () {
  const limits = { maxDevices: 65_535 }
  const context = yield* Layer.build(
    gatewayLayer({ port: 0, authenticate: "allowAll", acknowledgeRegistration: true, limits })
  )
  const { address, session } = Context.get(context, DeviceGateway)
  const call: Call = Effect.fnUntraced(function* (device) {
    const { content, isError } = yield* Effect.mapError(
      session.callTool(`device-${device}__ping`, { device }),
      ({ message }) => message
    )
    if (isError !== false) return yield* Effect.fail(JSON.stringify(content))
  })
  return { port: address.port, call }
})

/** The end of every frame. */
const end = "##END"

/**
 * Acknowledges the first frame of a device. Later frames are replies, matched in order: a device may receive a call
 * before its last reply.
 */
const bare = Effect.callback<Host>((resume) => {
  const sockets: Array<{ readonly socket: Socket; readonly waiting: Array<() => void> }> = []
  const server = createServer({ noDelay: true }, (socket) => {
    const waiting = [() => void socket.write("registered")]
    sockets.push({ socket, waiting })
    socket.on("data", (chunk) => {
      for (let at = chunk.indexOf(end); at >= 0; at = chunk.indexOf(end, at + 1)) waiting.shift()?.()
    })
  })
  const call: Call = (device) =>
    Effect.callback((done) => {
      const one = sockets[device - 1]
      if (one === undefined) return done(Effect.fail("it is not connected"))
      one.waiting.push(() => done(Effect.void))
      one.socket.write(`{"type":"call","data":{"call_id":"${device}","method":"ping","params":{}}}${end}`)
    })
  server.listen(0, "127.0.0.1", 4096, () => {
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    resume(Effect.succeed({ port, call }))
  })
})

const notify = (report: Report) => process.send?.(report)

const timed = (call: Call, latencies: Array<number>, failures: Array<string>) => (device: number) =>
  Effect.suspend(() => {
    const begun = performance.now()
    return Effect.match(call(device), {
      onFailure: (reason) => void failures.push(`device ${device}: ${reason}`),
      onSuccess: () => void latencies.push(performance.now() - begun)
    })
  })

const obey = Effect.fnUntraced(function* (order: Order, call: Call) {
  switch (order._tag) {
    case "Memory": {
      collect()
      const { heapUsed, rss } = process.memoryUsage()
      return notify({ _tag: "Memory", rss, heap: heapUsed })
    }
    case "Call": {
      const latencies: Array<number> = []
      const failures: Array<string> = []
      const turns = Array.from({ length: order.devices * order.times }, (_, turn) => 1 + (turn % order.devices))
      const begun = performance.now()
      yield* Effect.forEach(turns, timed(call, latencies, failures), {
        concurrency: order.atOnce,
        discard: true
      })
      return notify({ _tag: "Called", took: performance.now() - begun, latencies, failures })
    }
    case "Stop":
      return process.exit(0)
  }
})

const program = Effect.gen(function* () {
  const { call, port } = yield* process.argv[2] === "bare" ? bare : gateway
  const run = Effect.runForkWith(yield* Effect.context<never>())
  process.on("message", (order: Order) => void run(obey(order, call)))
  notify({ _tag: "Listening", port })
  return yield* Effect.never
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provideService(References.MinimumLogLevel, "None")))
