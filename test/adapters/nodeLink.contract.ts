import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Result, Scope } from "effect"
import { type Body, invalidBody, jsonBody } from "../../src/application/ports/Body.ts"
import type { NodeLink } from "../../src/application/server/nodes/NodeLink.ts"
import type {
  RequestTarget,
  NodeReplyExit,
  NodeMessageHandler
} from "../../src/application/server/nodes/nodeMessages.ts"
import { type ReplyExit, LinkClosed, RequestTimeout, SendFailed } from "../../src/application/ports/Transport.ts"
import { badRequest, forbidden } from "../../src/domain/model/ProtocolError.ts"
import { until } from "../until.ts"
import { liveWith } from "../testWith.ts"

export type LinkOf = NodeLink["Service"]

/** Makes nodes of one cluster; each ends with its scope. */
export interface NodeCluster {
  readonly node: (name: string) => Effect.Effect<LinkOf, never, Scope.Scope>
}

const minute = Duration.minutes(1)

/** A member of an office. */
const memberOf = (sid = "sid"): RequestTarget => ({ sid, office: "Büro 1" })

export const valueOf = (body: Body): unknown =>
  Result.match(body.value(), { onFailure: ({ code }) => `fault ${code}`, onSuccess: (value) => value })

/** The result of a request as short text. */
const outcomeOf = (exit: NodeReplyExit): unknown => {
  if (Exit.isSuccess(exit)) return exit.value.map(valueOf)
  const [reason] = exit.cause.reasons
  if (reason?._tag !== "Fail") return "defect"
  const { error } = reason
  return error._tag === "SendFailed" ? `SendFailed ${error.error.code}` : error._tag
}

/** Sends a request and waits for its result. */
export const request = (
  link: LinkOf,
  node: string,
  event: string,
  value: unknown,
  options: { readonly sid?: string; readonly timeout?: Duration.Duration } = {}
): Effect.Effect<unknown> =>
  Effect.callback((resume) => {
    const { timeout = minute, sid = "sid" } = options
    const cancel = link.startRequest(node, memberOf(sid), event, jsonBody(value), timeout, (exit) =>
      resume(Effect.succeed(outcomeOf(exit)))
    )
    return Effect.sync(cancel)
  })

/** A handler that replies by event name, or not at all. */
const answering = (
  handle: (event: string, body: Body) => ReplyExit | undefined,
  more: {
    readonly onCancel?: () => void
    readonly notify?: NodeMessageHandler["notify"]
  } = {}
): NodeMessageHandler & { readonly reached: () => number } => {
  let reached = 0
  return {
    reached: () => reached,
    startRequest: (_, event, body, __, onReply) => {
      reached++
      const exit = handle(event, body)
      if (exit !== undefined) queueMicrotask(() => onReply(exit))
      return () => more.onCancel?.()
    },
    notify: more.notify ?? (() => {})
  }
}

export const makeEcho = () => answering((event, body) => (event === "never" ? undefined : Exit.succeed([body])))

/** True for a node that holds no requests. */
const idle = (link: LinkOf) => {
  const { inboundRequests, outboundRequests, queuedBytes } = link.load()
  return outboundRequests + inboundRequests + queuedBytes === 0
}

/** The contract of every node link. */
export const contract = (name: string, start: Effect.Effect<NodeCluster, never, Scope.Scope>) => {
  const live = liveWith(start)

  /** Two nodes, the second with a handler. */
  const pair = Effect.fnUntraced(function* (cluster: NodeCluster, handler: NodeMessageHandler = makeEcho()) {
    const one = yield* cluster.node("one")
    const two = yield* cluster.node("two")
    yield* two.serve(handler)
    return { one, two }
  })

  describe(name, () => {
    live("delivers the values of a reply in order and unchanged", function* (cluster) {
      const { one, two } = yield* pair(
        cluster,
        answering((event, body) =>
          Exit.succeed(event === "none" ? [] : event === "one" ? [body] : [body, jsonBody("ü€😀"), jsonBody(null)])
        )
      )
      assert.deepStrictEqual(yield* request(one, "two", "one", { a: ["ü", 1, null, "\u001e😀"] }), [
        { a: ["ü", 1, null, "\u001e😀"] }
      ])
      assert.deepStrictEqual(yield* request(one, "two", "three", 1), [1, "ü€😀", null])
      assert.deepStrictEqual(yield* request(one, "two", "none", 1), [])
      yield* until(() => idle(one) && idle(two))
    })

    live("matches replies to requests when both nodes send requests at once", function* (cluster) {
      const { one, two } = yield* pair(cluster)
      yield* one.serve(makeEcho())
      const numbers = Array.from({ length: 200 }, (_, index) => index + 1)
      const all = yield* Effect.forEach(
        numbers,
        (index) =>
          Effect.all([request(one, "two", "echo", index), request(two, "one", "echo", -index)], {
            concurrency: "unbounded"
          }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        all,
        numbers.map((index) => [[index], [-index]])
      )
    })

    live("reports the failure of the other node", function* (cluster) {
      const ends: { readonly [event: string]: ReplyExit } = {
        closed: Exit.fail(new LinkClosed({ reason: "gone" })),
        silent: Exit.fail(new RequestTimeout({ timeout: Duration.seconds(7) })),
        refused: Exit.fail(new SendFailed({ error: forbidden("no") })),
        faulty: Exit.succeed([invalidBody(badRequest("binary"))])
      }
      const { one } = yield* pair(
        cluster,
        answering((event) => ends[event])
      )
      assert.strictEqual(yield* request(one, "two", "closed", {}), "LinkClosed")
      assert.strictEqual(yield* request(one, "two", "silent", {}), "RequestTimeout")
      assert.strictEqual(yield* request(one, "two", "refused", {}), "SendFailed 403")
      assert.deepStrictEqual(yield* request(one, "two", "faulty", {}), ["fault 400"])
    })

    live("passes session, office, event and timeout to the other node", function* (cluster) {
      const received: Array<unknown> = []
      const { one } = yield* pair(cluster, {
        startRequest: ({ office, sid }, event, body, timeout, onReply) => {
          received.push(sid, office, event, valueOf(body), Duration.toMillis(timeout))
          queueMicrotask(() => onReply(Exit.succeed([])))
          return () => {}
        },
        notify: () => {}
      })
      yield* request(one, "two", "client:ünknown", 7, { sid: "s-é", timeout: Duration.millis(12_345) })
      assert.deepStrictEqual(received, ["s-é", "Büro 1", "client:ünknown", 7, 12_345])
    })

    live("delivers requests and notifications for a member in order at any size", function* (cluster) {
      const received: Array<unknown> = []
      const { one } = yield* pair(
        cluster,
        answering(
          (_, body) => {
            received.push(valueOf(body))
            return Exit.succeed([])
          },
          { notify: (_, __, body) => void received.push(String(valueOf(body)).slice(0, 2)) }
        )
      )
      const long = "x".repeat(700_000)
      for (let count = 10; count < 30; count++) {
        one.notify("two", ["sid"], "tell", jsonBody(`${count}${count % 3 === 0 ? long : ""}`))
      }
      yield* request(one, "two", "last", 30)
      assert.deepStrictEqual(received, [...Array.from({ length: 20 }, (_, index) => String(index + 10)), 30])
    })

    live("delivers one notification for many members", function* (cluster) {
      const notified = yield* Deferred.make<unknown>()
      const { one } = yield* pair(
        cluster,
        answering(() => undefined, {
          notify: (sids, event, body) =>
            Deferred.doneUnsafe(notified, Exit.succeed([sids.length, sids[1999], event, valueOf(body)]))
        })
      )
      const sids = Array.from({ length: 2000 }, (_, index) => `member-${index}`)
      one.notify("two", sids, "notify:x", jsonBody({ a: 1 }))
      assert.deepStrictEqual(yield* Deferred.await(notified), [2000, "member-1999", "notify:x", { a: 1 }])
    })

    live("cancels a request at both nodes", function* (cluster) {
      const forgotten = yield* Deferred.make<void>()
      const never = answering(() => undefined, {
        onCancel: () => Deferred.doneUnsafe(forgotten, Exit.void)
      })
      const { one, two } = yield* pair(cluster, never)
      let ended = false
      const cancel = one.startRequest("two", memberOf(), "never", jsonBody(1), minute, () => {
        ended = true
      })
      yield* until(() => never.reached() === 1)
      cancel()
      cancel()
      yield* Deferred.await(forgotten)
      assert.isFalse(ended)
      yield* until(() => idle(one) && idle(two))
    })

    live("reports no result before the request returns, and none after an immediate cancel", function* (cluster) {
      const { one } = yield* pair(cluster)
      const ends: Array<string> = []
      for (const node of ["two", "absent"]) {
        const cancel = one.startRequest(node, memberOf(), "echo", jsonBody(1), minute, () => ends.push(node))
        assert.deepStrictEqual(ends, [])
        cancel()
      }
      yield* request(one, "two", "echo", 1)
      assert.deepStrictEqual(ends, [])
    })

    live("fails at once for an unknown node", function* (cluster) {
      const { one } = yield* pair(cluster)
      assert.strictEqual(yield* request(one, "unknown", "echo", 1), "NodeUnreachable")
      one.notify("unknown", ["sid"], "tell", jsonBody(1))
      assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
      yield* until(() => idle(one))
    })

    live("rejects a body that is not serializable", function* (cluster) {
      const { one } = yield* pair(cluster)
      const outcome = yield* Effect.callback<unknown>((resume) => {
        one.startRequest("two", memberOf(), "echo", invalidBody(badRequest("no")), minute, (exit) =>
          resume(Effect.succeed(outcomeOf(exit)))
        )
      })
      assert.strictEqual(outcome, "SendFailed 400")
    })

    live("fails requests to a node that does not serve", function* (cluster) {
      const one = yield* cluster.node("one")
      const two = yield* cluster.node("two")
      assert.strictEqual(yield* request(one, "two", "echo", 1), "LinkClosed")
      const serving = yield* Scope.make()
      let forgotten = 0
      const handler = answering(() => undefined, { onCancel: () => void forgotten++ })
      yield* Scope.provide(two.serve(handler), serving)
      const waiting = yield* Effect.forkChild(request(one, "two", "never", 1), { startImmediately: true })
      yield* until(() => handler.reached() === 1)
      yield* Scope.close(serving, Exit.void)
      assert.strictEqual(yield* Fiber.join(waiting), "LinkClosed")
      assert.strictEqual(forgotten, 1)
    })

    live("forgets a request whose handler throws, and serves the next", function* (cluster) {
      const throwing = answering((event, body) => {
        if (event === "bug") throw new Error("a bug")
        return Exit.succeed([body])
      })
      const { one, two } = yield* pair(cluster, throwing)
      assert.strictEqual(yield* request(one, "two", "bug", 1), "NodeUnreachable")
      assert.deepStrictEqual(yield* request(one, "two", "echo", 2), [2])
      yield* until(() => idle(one) && idle(two))
    })

    live("fails requests to a node that ends, and cancels its own", function* (cluster) {
      let forgotten = 0
      const one = yield* cluster.node("one")
      const never = answering(() => undefined, { onCancel: () => void forgotten++ })
      yield* one.serve(never)
      const home = yield* Scope.make()
      const two = yield* Scope.provide(cluster.node("two"), home)
      const handler = makeEcho()
      yield* Scope.provide(two.serve(handler), home)
      const ends: Array<unknown> = []
      two.startRequest("one", memberOf(), "never", jsonBody(1), minute, (exit) => ends.push(outcomeOf(exit)))
      const pending = yield* Effect.forkChild(request(one, "two", "never", 1), { startImmediately: true })
      yield* until(() => never.reached() + handler.reached() === 2)
      yield* Scope.close(home, Exit.void)
      assert.match(String(yield* Fiber.join(pending)), /^NodeUnreachable|LinkClosed$/)
      yield* until(() => forgotten === 1)
      assert.deepStrictEqual(ends, ["NodeUnreachable"])
      yield* until(() => idle(one) && idle(two))
    })

    live("delivers nothing of a node that has ended, whose name another node has taken", function* (cluster) {
      const received: Array<unknown> = []
      const one = yield* cluster.node("one")
      const handler = answering(() => Exit.succeed([]), {
        notify: (_, __, body) => void received.push(valueOf(body))
      })
      yield* one.serve(handler)
      const home = yield* Scope.make()
      const ended = yield* Scope.provide(cluster.node("two"), home)
      yield* Scope.close(home, Exit.void)
      const next = yield* cluster.node("two")
      ended.notify("one", ["sid"], "tell", jsonBody("ended"))
      assert.strictEqual(yield* request(ended, "one", "echo", 1), "NodeUnreachable")
      next.notify("one", ["sid"], "tell", jsonBody("next"))
      assert.deepStrictEqual(yield* request(next, "one", "echo", 1), [])
      assert.deepStrictEqual(received, ["next"])
      assert.strictEqual(handler.reached(), 1)
    })

    live("ends all requests of a node that the cluster has lost", function* (cluster) {
      let forgotten = 0
      const never = answering(() => undefined, { onCancel: () => void forgotten++ })
      const { one, two } = yield* pair(cluster, never)
      yield* one.serve(never)
      const pending = yield* Effect.forkChild(request(one, "two", "never", 1), { startImmediately: true })
      const back = yield* Effect.forkChild(request(two, "one", "never", 1), { startImmediately: true })
      yield* until(() => never.reached() === 2)
      one.onNodeLost("two")
      assert.strictEqual(yield* Fiber.join(pending), "NodeUnreachable")
      assert.strictEqual(yield* Fiber.join(back), "NodeUnreachable")
      yield* until(() => forgotten === 2)
      yield* until(() => idle(one) && idle(two))
    })

    live("fails a request a few seconds after its timeout when the other node does not reply", function* (cluster) {
      let forgotten = 0
      const { one, two } = yield* pair(
        cluster,
        answering(() => undefined, { onCancel: () => void forgotten++ })
      )
      const options = { timeout: Duration.millis(1) }
      assert.strictEqual(yield* request(one, "two", "never", 1, options), "RequestTimeout")
      yield* until(() => forgotten === 1)
      yield* until(() => idle(one) && idle(two))
    })

    live("extends a request at its timeout", function* (cluster) {
      let forgotten = 0
      const { one } = yield* pair(
        cluster,
        answering(() => undefined, { onCancel: () => void forgotten++ })
      )
      let left = 1
      const extended = yield* Effect.callback<string>((resume) => {
        const onReply = (exit: NodeReplyExit) => resume(Effect.succeed(Exit.isFailure(exit) ? "failed" : "replied"))
        const extend = () => (left-- > 0 ? Duration.millis(500) : Duration.zero)
        one.startRequest("two", memberOf("sid"), "never", jsonBody(1), Duration.millis(1), onReply, extend)
      })
      assert.deepStrictEqual([extended, left], ["failed", -1])
      yield* until(() => forgotten === 1)
    })

    live("transfers several bodies of 8 MB in both directions at once", function* (cluster) {
      const { one, two } = yield* pair(cluster)
      const text = `${"lorem ipsum 你好 😀 ".repeat(270_000)}.`
      const large = yield* Effect.forkChild(
        Effect.forEach(
          [1, 2, 3, 4],
          (count) =>
            Effect.map(request(one, "two", "echo", { count, text }, { sid: `s${count}` }), (values) => {
              assert.deepStrictEqual(values, [{ count, text }])
            }),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      assert.deepStrictEqual(yield* request(one, "two", "echo", "short", { sid: "other" }), ["short"])
      yield* Fiber.join(large)
      yield* until(() => idle(one) && idle(two))
    })

    live("leaves no data of a long request that is cancelled in flight", function* (cluster) {
      const { one, two } = yield* pair(cluster)
      const body = jsonBody("x".repeat(8_000_000))
      for (let count = 0; count < 5; count++) {
        const cancel = one.startRequest("two", memberOf(), "never", body, minute, () => assert.fail("it was forgotten"))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        cancel()
      }
      assert.deepStrictEqual(yield* request(one, "two", "echo", 1), [1])
      yield* until(() => idle(one) && idle(two))
    })
  })
}
