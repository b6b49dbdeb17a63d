import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { TransportClient } from "../../../src/application/ports/Transport.ts"
import { elapse, startWatched } from "../server/watch/watchedServer.ts"

/** Replies within a second. */
const answer = (event: string, value: unknown): Effect.Effect<unknown> => {
  const reqId: unknown = Object(value)["req_id"]
  return Effect.delay(
    Effect.succeed(
      event === "client:get_tools"
        ? { tools: [], req_id: reqId }
        : { desktops: ["window://a/b\n\ntext"], req_id: reqId }
    ),
    "1 second"
  )
}

describe("an Agent in a large office", () => {
  it.effect("fetches the tools and desktops of all Computers", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const names = Array.from({ length: 300 }, (_, index) => `pc-${index}`)
      yield* Effect.forEach(names, (name) => server.computer(name, { answer }))
      const context = yield* Agent.layer({ office: "O", name: "ada" }).pipe(
        Layer.provide(Layer.succeed(TransportClient, server.transport)),
        Layer.build
      )
      yield* elapse("60 seconds")
      const { computers } = yield* Context.get(context, Agent).view
      const complete = [...computers.values()].filter(
        ({ desktop, tools }) => desktop !== undefined && tools !== undefined
      )
      assert.strictEqual(complete.length, names.length)
    })
  )
})
