/** A node of bench/nodes.ts: it echoes requests, and sends requests on order. */
import { Duration, Effect, Exit, Layer, Redacted } from "effect"
import * as MemoryNodeLink from "../src/adapters/memory/MemoryNodeLink.ts"
import * as RedisNodeLink from "../src/adapters/redis/nodelink/RedisNodeLink.ts"
import { type Body, jsonBody } from "../src/application/ports/Body.ts"
import { NodeLink } from "../src/application/ports/NodeLink.ts"

/** An order to send requests: body size, pending requests, and duration. */
export interface Order {
  readonly bytes: number
  readonly atOnce: number
  readonly seconds: number
}

/** The number of replies, and the median latency in milliseconds. */
export interface Report {
  readonly calls: number
  readonly latency: number
}

const [, , kind = "redis", url = "", node = "node"] = process.argv
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

const layer =
  kind === "redis"
    ? RedisNodeLink.layer({ url: Redacted.make(url), prefix: "{a2c}", node })
    : MemoryNodeLink.layer(MemoryNodeLink.makeNetwork(), node)

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
  const work = ({ atOnce, bytes, seconds }: Order) => {
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
  notify({ calls: 0, latency: 0 })
  return yield* Effect.never
})

Effect.runFork(Effect.scoped(Effect.provide(host, Layer.fresh(layer))))
