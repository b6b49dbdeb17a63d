import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import { type McpSession, McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { listAllPages } from "../../../src/application/shared/paging.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { agentUnderTest, computerUnderTest, resource } from "../../conformance/members.ts"
import { makePlace, type Place } from "../../main/computers.ts"

type Servers = { readonly [name: string]: MemoryMcp.MemoryMcpServer | MemoryMcp.MemoryMcpServerOptions }

const publish = Effect.fnUntraced(function* (place: Place) {
  const agent = yield* agentUnderTest(place)
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1" }), Agent, agent)
  yield* agent.settled
  return { agent, session }
})

/** The session of an office with these Computers, and their MCP servers. */
const published = Effect.fnUntraced(function* (computers: { readonly [name: string]: Servers }) {
  const place = yield* makePlace
  for (const [name, servers] of Object.entries(computers)) yield* computerUnderTest(place, { name, servers })
  return yield* publish(place)
})

const notes = (count: number) =>
  Array.from({ length: count }, (_, index) => resource(`note://${index}`, [`text ${index}`]))

const list = ({ listResources }: McpSession) => listAllPages(listResources)

const urisIn = (items: ReadonlyArray<JsonObject>) => items.map(({ uri }) => uri)

/** An MCP server whose lists of resources run as `around` makes them. */
const changed = Effect.fnUntraced(function* (
  options: MemoryMcp.MemoryMcpServerOptions,
  around: (page: ReturnType<McpSession["listResources"]>) => ReturnType<McpSession["listResources"]>
) {
  const memory = yield* MemoryMcp.makeMemoryMcpServer(options)
  const connect = Effect.map(
    memory.connect,
    (session): McpSession => ({ ...session, listResources: (cursor) => around(session.listResources(cursor)) })
  )
  return { ...memory, connect }
})

describe("resource of an MCP server in a published office", () => {
  it.effect("is listed as the server lists it, under a name and a URI of the office, by which it is read", () =>
    Effect.gen(function* () {
      const more = {
        name: "Seven",
        title: "The seventh",
        mimeType: "text/plain",
        size: 5,
        annotations: { priority: 1 }
      }
      const { session } = yield* published({ desk: { notes: { resources: [resource("note://7", ["seven"], more)] } } })
      const [item, ...others] = yield* list(session)
      const uri = "mcp://desk/notes/note://7"
      assert.deepStrictEqual([item, others], [{ ...more, uri, name: "desk/notes/Seven" }, []])
      assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, text: "seven" }])
    })
  )

  it.effect("is listed once, and never where it is a window, a document, a skill or an app", () =>
    Effect.gen(function* () {
      const others = ["window://host/app", "DPE://host/d", "skill://host/review", "ui://draw/form"]
      const resources = [...others, "note://1", "note://1", "file:///etc/hosts"].map((uri) => resource(uri))
      const { session } = yield* published({ desk: { alpha: { resources } } })
      const listed = urisIn(yield* list(session)).filter((uri) => String(uri).startsWith("mcp:"))
      assert.deepStrictEqual(listed, ["mcp://desk/alpha/note://1", "mcp://desk/alpha/file:///etc/hosts"])
    })
  )

  it.effect("has another name than the others of the same name, at its server, its Computer and elsewhere", () =>
    Effect.gen(function* () {
      const alpha = { resources: ["a://1", "a://2"].map((uri) => resource(uri, [], { name: "README" })) }
      const { session } = yield* published({ desk: { alpha, beta: alpha }, attic: { alpha } })
      const names = (yield* list(session)).map(({ name }) => name)
      assert.sameMembers(
        names,
        ["desk/alpha", "desk/beta", "attic/alpha"].flatMap((place) => [`${place}/README`, `${place}/a://2`])
      )
    })
  )

  it.effect("stands on pages of 500, of at most 1000 from each server", () =>
    Effect.gen(function* () {
      const alpha = { resources: notes(1200), pageSize: 90 }
      const { session } = yield* published({ desk: { alpha, beta: { resources: notes(1) } } })
      const sizes: Array<number> = []
      const all = yield* listAllPages((cursor) =>
        Effect.tap(session.listResources(cursor), ({ items }) => Effect.sync(() => void sizes.push(items.length)))
      )
      assert.deepStrictEqual(sizes, [500, 500, 1])
      assert.strictEqual(new Set(urisIn(all)).size, 1001)
    })
  )

  it.effect("stays on its page while other clients list, and is listed by a cursor of an earlier process", () =>
    Effect.gen(function* () {
      const { agent, session } = yield* published({ desk: { alpha: { resources: notes(600) } } })
      const { nextCursor } = yield* session.listResources()
      yield* session.listResources()
      const rest = (yield* session.listResources(nextCursor)).items
      const later = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1" }), Agent, agent)
      yield* agent.settled
      assert.deepStrictEqual((yield* later.listResources(nextCursor)).items, rest)
      assert.strictEqual(rest.length, 100)
      const { code } = yield* Effect.flip(session.listResources("601"))
      assert.strictEqual(code, -32_602)
    })
  )

  it.effect("is announced when its server lists it, or no more", () =>
    Effect.gen(function* () {
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({ resources: notes(1) })
      const { agent, session } = yield* published({ desk: { alpha } })
      const changes = yield* Stream.toPull(yield* session.watch({ tools: false, resources: true, uris: [] }))
      for (const count of [2, 0]) {
        yield* alpha.setResources(notes(count))
        assert.deepStrictEqual(yield* changes, [{ _tag: "ResourcesChanged" }])
        yield* agent.settled
        assert.strictEqual((yield* list(session)).length, count)
      }
    })
  )

  it.effect("is listed within three seconds beside a server that does not answer, and announced once that does", () =>
    Effect.gen(function* () {
      const answers = yield* Deferred.make<void>()
      let isSlow = false
      const slow = yield* changed({ resources: notes(2) }, (page) =>
        Effect.suspend(() => (isSlow ? Effect.andThen(Deferred.await(answers), page) : page))
      )
      const { session } = yield* published({ attic: { slow }, desk: { alpha: { resources: notes(1) } } })
      const changes = yield* Stream.toPull(yield* session.watch({ tools: false, resources: true, uris: [] }))
      isSlow = true
      const first = yield* Effect.forkChild(list(session), { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(urisIn(yield* Fiber.join(first)), ["mcp://desk/alpha/note://0"])
      yield* Deferred.succeed(answers, undefined)
      assert.deepStrictEqual(yield* changes, [{ _tag: "ResourcesChanged" }])
      assert.strictEqual((yield* list(session)).length, 3)
    })
  )

  it.effect("stays as last listed while its server fails to list, and is gone with its Computer", () =>
    Effect.gen(function* () {
      let isFailing = false
      const failure = new McpSessionError({ reason: "protocol", message: "no" })
      const alpha = yield* changed({ resources: notes(1) }, (page) =>
        Effect.suspend(() => (isFailing ? Effect.fail(failure) : page))
      )
      const place = yield* makePlace
      const joined = yield* Effect.forkScoped(
        Effect.scoped(Effect.andThen(computerUnderTest(place, { name: "desk", servers: { alpha } }), Effect.never)),
        { startImmediately: true }
      )
      const { agent, session } = yield* publish(place)
      const before = yield* list(session)
      assert.strictEqual(before.length, 1)
      isFailing = true
      assert.deepStrictEqual(yield* list(session), before)
      yield* Fiber.interrupt(joined)
      yield* Stream.runDrain(Stream.takeUntil(agent.changes, ({ computers }) => computers.size === 0))
      assert.deepStrictEqual(yield* list(session), [])
    })
  )

  it.effect("leads through an office inside an office", () =>
    Effect.gen(function* () {
      const { session: inner } = yield* published({ desk: { notes: { resources: notes(1) } } })
      const lab = { ...(yield* MemoryMcp.makeMemoryMcpServer({})), connect: Effect.succeed(inner) }
      const { session } = yield* published({ outer: { lab } })
      const [item] = yield* list(session)
      const uri = "mcp://outer/lab/mcp://desk/notes/note://0"
      assert.deepStrictEqual(item, { uri, name: "outer/lab/desk/notes/note://0" })
      assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, text: "text 0" }])
    })
  )
})
