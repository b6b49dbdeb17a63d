import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Queue } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { joinOffice } from "../../../src/application/member/OfficeMember.ts"
import { type Link, TransportClient } from "../../../src/application/ports/Transport.ts"
import { Server } from "../../../src/application/server/Server.ts"

/** A Server in memory whose members' connections can be watched, and broken. */
const place = Effect.gen(function* () {
  const context = yield* Server.layer.pipe(
    Layer.provideMerge(MemoryTransport.layer()),
    Layer.provide(MemoryCluster.layer),
    Layer.fresh,
    Layer.build
  )
  const { connect } = Context.get(context, TransportClient)
  const links = yield* Queue.unbounded<{ readonly link: Link; readonly instance: unknown }>()
  const watched = TransportClient.of({
    connect: (request) =>
      Effect.tap(connect(request), (link) => Queue.offer(links, { link, instance: request.auth["instance"] }))
  })
  const join = (name: string) =>
    joinOffice({ role: "computer", office: "O", name }, () => ({
      receive: () => Effect.succeed([]),
      onJoined: Effect.void,
      onLost: () => Effect.void
    })).pipe(Effect.provideService(TransportClient, watched))
  return { join, links }
})

describe("a member's proof of being the same", () => {
  it.effect("is a secret that it keeps for as long as it lives, and shares with no other", () =>
    Effect.gen(function* () {
      const { join, links } = yield* place
      yield* join("one")
      const first = yield* Queue.take(links)
      yield* first.link.close("lost")
      yield* TestClock.adjust("1 minute")
      const again = yield* Queue.take(links)
      yield* join("other")
      const other = yield* Queue.take(links)
      assert.match(String(first.instance), /^[0-9a-f]{32}$/)
      assert.strictEqual(again.instance, first.instance)
      assert.notStrictEqual(other.instance, first.instance)
    })
  )
})
