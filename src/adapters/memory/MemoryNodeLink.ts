import { Duration, Effect, Exit, type Fiber, Layer } from "effect"
import { type Body, faultyBody } from "../../application/ports/Body.ts"
import { NodeAway, type NodeAsked, NodeLink, type NodeReceive } from "../../application/ports/NodeLink.ts"
import { textBody } from "../bytes/TextBody.ts"
import { type Asked, LinkClosed, NoAnswer, NotSent } from "../../application/ports/Transport.ts"

/** How much longer than the deadline an answer is waited for: the other node keeps the deadline. */
const netTime = Duration.seconds(3)

/** A request between two nodes. Whoever takes it off both ends first decides how it ended. */
interface Call {
  readonly from: Station
  readonly to: Station
  readonly end: (asked: NodeAsked) => void
  /** What the member's node does when the answer is not wanted any more, once it has been asked. */
  forget: () => void
  /** Ends it when the member's node does not. */
  readonly net: Fiber.Fiber<void>
}

/** A node, as the others see it. */
interface Station {
  readonly node: string
  readonly asked: Set<Call>
  readonly serving: Set<Call>
  receive: NodeReceive | undefined
  ignored: number
  unsent: number
}

/** The nodes of a cluster within one process, by name. */
export interface Cluster {
  readonly stations: Map<string, Station>
}

/** A cluster without nodes. Each {@link layer} on it is one. */
export const makeCluster = (): Cluster => ({ stations: new Map() })

/** A body as the far end gets it: by its text, so that the nodes share no object. */
const carry = (body: Body): Body => {
  const text = body.text()
  return text._tag === "Failure" ? faultyBody(text.failure) : textBody(text.success)
}

const over = (call: Call): boolean => {
  call.net.interruptUnsafe()
  call.to.serving.delete(call)
  return call.from.asked.delete(call)
}

/** Ends everything between two nodes, at both ends. */
const sever = (one: Station, other: Station, reason: string): void => {
  for (const [from, to] of [[one, other] as const, [other, one] as const]) {
    for (const call of new Set(from.asked)) {
      if (call.to !== to || !over(call)) continue
      call.forget()
      call.end(Exit.fail(new NodeAway({ node: to.node, reason })))
    }
  }
}

/**
 * The way to the other nodes of a cluster in this process: a full peer of the one over Redis, for deterministic tests
 * on virtual time and for hosts of several Servers. The node is gone when the layer's scope closes.
 */
export const layer = (cluster: Cluster, node: string): Layer.Layer<NodeLink> =>
  Layer.effect(
    NodeLink,
    Effect.gen(function* () {
      const { stations } = cluster
      const context = yield* Effect.context<never>()
      const run = Effect.runForkWith(context)
      /** By Effect's scheduler, of which a virtual clock knows: it does not tick before this is done. */
      const soon = (act: () => void) => void run(Effect.andThen(Effect.yieldNow, Effect.sync(act)))
      const here: Station = {
        node,
        asked: new Set(),
        serving: new Set(),
        receive: undefined,
        ignored: 0,
        unsent: 0
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => void stations.set(node, here)),
        () =>
          Effect.sync(() => {
            if (stations.get(node) === here) stations.delete(node)
            for (const { from, to } of new Set([...here.asked, ...here.serving])) {
              sever(here, from === here ? to : from, "it has ended")
            }
          })
      )

      const request: NodeLink["Service"]["request"] = (name, addressee, event, body, deadline, end) => {
        const to = stations.get(name)
        const written = body.text()
        if (written._tag === "Failure" || to === undefined || stations.get(node) !== here) {
          let wanted = true
          soon(() => {
            if (!wanted) return
            end(
              Exit.fail(
                written._tag === "Failure"
                  ? new NotSent({ refusal: written.failure })
                  : new NodeAway({ node: name, reason: "it does not listen" })
              )
            )
          })
          return () => {
            wanted = false
          }
        }
        const net = run(
          Effect.andThen(
            Effect.sleep(Duration.sum(deadline, netTime)),
            Effect.sync(() => {
              if (!over(call)) return
              call.forget()
              end(Exit.fail(new NoAnswer({ after: deadline })))
            })
          )
        )
        const call: Call = { from: here, to, end, forget: () => {}, net }
        here.asked.add(call)
        to.serving.add(call)
        const ended = (asked: Asked) => {
          if (over(call)) call.end(Exit.map(asked, (answer) => answer.map(carry)))
          else here.ignored++
        }
        const sent = carry(body)
        soon(() => {
          if (!to.serving.has(call)) return
          const { receive } = to
          if (receive === undefined) ended(Exit.fail(new LinkClosed({ reason: "the node does not serve" })))
          else call.forget = receive.request(addressee, event, sent, deadline, ended)
        })
        return () => {
          if (over(call)) call.forget()
        }
      }

      return NodeLink.of({
        node,
        request,
        serve: (receive) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              here.receive = receive
            }),
            () =>
              Effect.sync(() => {
                here.receive = undefined
                for (const call of new Set(here.serving)) {
                  if (!over(call)) continue
                  call.forget()
                  call.end(Exit.fail(new LinkClosed({ reason: "the node has stopped serving" })))
                }
              })
          ),
        tell: (name, sids, event, body) => {
          const to = stations.get(name)
          if (to === undefined) {
            here.unsent += sids.length
            return
          }
          const sent = carry(body)
          soon(() => to.receive?.tell(sids, event, sent))
        },
        lost: (name) => {
          const to = stations.get(name)
          if (to !== undefined) sever(here, to, "the cluster has lost it")
        },
        size: () => here.asked.size,
        load: () => ({
          asked: here.asked.size,
          serving: here.serving.size,
          waiting: 0,
          incomplete: 0,
          ignored: here.ignored,
          unsent: here.unsent
        })
      })
    })
  )
