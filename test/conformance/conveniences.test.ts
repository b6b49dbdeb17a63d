import { assert, describe } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer, Stream } from "effect"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import type { ResolvedDpe } from "../../src/application/computer/ComputerSettings.ts"
import { DocumentReader, DocumentUnreadable } from "../../src/application/ports/files/DocumentReader.ts"
import { computerIn } from "./joinedMembers.ts"
import { agentUnderTest, computerUnderTest, resource, scriptedOffice, textResult, tool } from "./members.ts"
import { conform, type World } from "./World.ts"

const report = resource("dpe://com.ex.docs/rpt")

describe("call without a Computer", () => {
  conform("runs once at the Computer that has the tool", (world) =>
    Effect.gen(function* () {
      let calls = 0
      const counted = tool("count", () => Effect.sync(() => textResult(String(++calls))))
      yield* computerUnderTest(world, { servers: { alpha: { tools: [counted] } } })
      yield* computerUnderTest(world, { name: "pc-2", servers: { beta: { tools: [tool("other")] } } })
      const agent = yield* agentUnderTest(world)
      const { content } = yield* agent.callTool({ tool: "count" })
      assert.deepStrictEqual(content, textResult("1")["content"])
    })
  )

  conform("fails with the owners when several Computers have the tool", (world) =>
    Effect.gen(function* () {
      for (const name of ["pc-1", "pc-2"]) {
        yield* computerUnderTest(world, { name, servers: { alpha: { tools: [tool("t")] } } })
      }
      const agent = yield* agentUnderTest(world)
      const error = yield* Effect.flip(agent.callTool({ tool: "t" }))
      assert.deepInclude(error, { _tag: "AmbiguousTool", tool: "t", owners: ["pc-1", "pc-2"] })
    })
  )

  conform("refreshes the tools once before it fails without an owner", (world) =>
    Effect.gen(function* () {
      let listings = 0
      const { agent } = yield* scriptedOffice(world, (event) => {
        if (event === "client:get_tools") listings++
        return undefined
      })
      const error = yield* Effect.flip(agent.callTool({ tool: "fly" }))
      assert.strictEqual(error.message, 'No Computer of this office has a tool "fly"')
      assert.strictEqual(listings, 2)
    })
  )
})

describe("view of one Computer", () => {
  conform("changes with that Computer only, and ends with it", (world) =>
    Effect.gen(function* () {
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({ tools: [tool("a")] })
      const c2 = yield* computerIn(world, "O1", "pc-2")
      yield* c2.answers((event, given) => {
        const { req_id } = given as { readonly req_id: string }
        return Effect.succeed([event === "client:get_tools" ? { tools: [], req_id } : { desktops: [], req_id }])
      })
      yield* computerUnderTest(world, { servers: { alpha } })
      const agent = yield* agentUnderTest(world)
      yield* agent.settled
      const seen = yield* Effect.forkChild(
        agent.changesOf("pc-2").pipe(
          Stream.map((view) => view?.tools?.length),
          Stream.takeUntil((tools) => tools === undefined),
          Stream.runCollect
        ),
        { startImmediately: true }
      )
      yield* alpha.setTools([tool("a"), tool("b")])
      yield* agent.changesOf("pc-1").pipe(
        Stream.filter((view) => view?.tools?.length === 2),
        Stream.runHead
      )
      yield* c2.close
      assert.deepStrictEqual(yield* Fiber.join(seen), [0, undefined])
    })
  )
})

describe("allResources", () => {
  conform("fetches page by page", (world) =>
    Effect.gen(function* () {
      const uris = Array.from({ length: 250 }, (_, index) => `test://${index}`)
      const alpha = { pageSize: 7, resources: uris.map((uri) => resource(uri)) }
      yield* computerUnderTest(world, { servers: { alpha } })
      const agent = yield* agentUnderTest(world)
      const found = yield* agent.allResources("pc-1", "alpha")
      assert.deepStrictEqual(
        found.map(({ uri }) => uri),
        uris
      )
    })
  )

  conform("keeps what came when a page or a cursor repeats", (world) =>
    Effect.gen(function* () {
      const resources = [{ uri: "window://one", name: "one" }]
      const { agent } = yield* scriptedOffice(world, (event, { req_id }) =>
        event === "client:get_resources" ? { resources, next_cursor: "again", req_id } : undefined
      )
      const listed = yield* agent.allResources("pc-1", "alpha")
      assert.deepStrictEqual(
        listed.map(({ uri }) => uri),
        ["window://one"]
      )
    })
  )
})

describe("document fetch", () => {
  const reading = Effect.fnUntraced(function* (
    world: World,
    read: DocumentReader["Service"]["read"] | undefined,
    found: ResolvedDpe = { uri: "http://x/d", size: 3 }
  ) {
    const settings = { resolveDpe: () => Effect.succeed(found) }
    yield* computerUnderTest(world, { servers: { alpha: { resources: [report] } }, settings })
    if (read === undefined) return yield* agentUnderTest(world)
    const context = yield* Agent.layer({ office: "O1", name: "agent-1" }).pipe(
      Layer.provide(world.client),
      Layer.provide(world.logging),
      Layer.provide(Layer.succeed(DocumentReader, { read })),
      Layer.fresh,
      Layer.build,
      Effect.orDie
    )
    return Context.get(context, Agent)
  })
  const bytes = new Uint8Array([1, 2, 3])

  conform("requests the location from the Computer, and reads it there", (world) =>
    Effect.gen(function* () {
      const requests: Array<unknown> = []
      const agent = yield* reading(world, (uri, maxBytes) => {
        requests.push([uri, maxBytes])
        return Effect.succeed({ bytes, mimeType: "text/plain" })
      })
      assert.deepStrictEqual(yield* agent.fetchDocument("pc-1", report.definition.uri, { maxBytes: 9 }), {
        uri: "http://x/d",
        mimeType: "text/plain",
        bytes
      })
      assert.deepStrictEqual(requests, [["http://x/d", 9]])
    })
  )

  conform("never starts for a document that is too large", (world) =>
    Effect.gen(function* () {
      const agent = yield* reading(world, () => Effect.die("it was read"))
      const error = yield* Effect.flip(agent.fetchDocument("pc-1", report.definition.uri, { maxBytes: 2 }))
      assert.strictEqual(error.message, "dpe://com.ex.docs/rpt has 3 bytes, more than the 2 allowed")
    })
  )

  conform("stops when the transfer times out", (world) =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      const agent = yield* reading(world, () => Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
      const fetching = yield* Effect.forkChild(
        Effect.flip(agent.fetchDocument("pc-1", report.definition.uri, { timeout: 1 }))
      )
      yield* Deferred.await(begun)
      yield* world.elapse("1 second")
      const error = yield* Fiber.join(fetching)
      assert.instanceOf(error, DocumentUnreadable)
      assert.strictEqual(error.message, "dpe://com.ex.docs/rpt was not transferred within 1 seconds")
    })
  )

  conform("fails without a reader of the host", (world) =>
    Effect.gen(function* () {
      const agent = yield* reading(world, undefined)
      const error = yield* Effect.flip(agent.fetchDocument("pc-1", report.definition.uri))
      assert.strictEqual(error.message, "No DocumentReader is provided")
    })
  )
})
