/** A node of bench/nodes.ts: it echoes requests, and sends requests on order. */
import { Duration, Effect, Exit, Layer } from "effect"
import * as MemoryCluster from "../src/adapters/memory/MemoryCluster.ts"
import { makeTcpNodeTransport } from "../src/adapters/tcp/nodes/TcpNodeTransport.ts"
import { NodeTransport } from "../src/application/ports/Transport.ts"
import { type Body, jsonBody } from "../src/application/ports/Body.ts"
import { NodeLink } from "../src/application/server/nodes/NodeLink.ts"

/** An order to send requests: address of the other node, body size, pending requests, and duration. */
export interface Order {
  readonly address: string
  readonly bytes: number
  readonly atOnce: number
  readonly seconds: number
}

/** The address of the node, the number of replies, and the median latency in milliseconds. */
export interface Report {
  readonly address: string
  readonly calls: number
  readonly latency: number
}

const [, , kind = "tcp", node = "node"] = process.argv
const notify = (report: Report) => void process.send?.(report)

const bodies = new Map<number, Body>()
/** A body of this size, made once: its creation is not measured. */
const bodyOf = (bytes: number): Body => {
  const known = bodies.get(bytes)
  if (known !== undefined) return known
  const body = jsonBody({ text: "lorem ipsum ".repeat(Math.ceil(bytes / 12)).slice(0, bytes - 11) })
  bodies.set(bytes, body)
  return body
}

let answererAddress = ""
let ownAddress = ""

const overTcp = Effect.map(
  makeTcpNodeTransport({
    node,
    address: { host: "127.0.0.1", port: 0 },
    secure: false,
    addressOf: () => Effect.succeed(answererAddress)
  }),
  ({ address, transport }) => {
    ownAddress = address
    return transport
  }
)

const layer = Layer.provide(
  NodeLink.layer,
  kind === "tcp" ? Layer.effect(NodeTransport, overTcp) : MemoryCluster.layerNode(MemoryCluster.makeCluster(), node)
)

const host = Effect.gen(function* () {
  const link = yield* NodeLink
  yield* link.serve({
    startRequest: (_, event, __, ___, onReply) => {
      queueMicrotask(() => onReply(Exit.succeed([bodyOf(Number(event))])))
      return () => {}
    },
    notify: () => {}
  })
  const question = bodyOf(1024)
  const work = ({ address, atOnce, bytes, seconds }: Order) => {
    answererAddress = address
    const end = performance.now() + seconds * 1000
    const times: Array<number> = []
    let open = 0
    const ask = () => {
      const begun = performance.now()
      open++
      link.startRequest(
        "answerer",
        { sid: "some-member-of-it", office: "some-office" },
        String(bytes),
        question,
        Duration.seconds(30),
        (exit) => {
          open--
          if (Exit.isFailure(exit)) throw new Error(String(exit.cause))
          times.push(performance.now() - begun)
          if (performance.now() < end) ask()
          else if (open === 0) {
            notify({
              address: ownAddress,
              calls: times.length,
              latency: times.toSorted((one, other) => one - other)[times.length >> 1] ?? 0
            })
          }
        }
      )
    }
    for (let count = 0; count < atOnce; count++) ask()
  }
  process.on("message", work)
  notify({ address: ownAddress, calls: 0, latency: 0 })
  return yield* Effect.never
})

Effect.runFork(Effect.scoped(Effect.provide(host, Layer.fresh(layer))))
