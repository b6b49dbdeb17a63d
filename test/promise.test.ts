import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { makeDocumentServer } from "../src/adapters/dpe/DocumentServer.ts"
import * as MemoryMcp from "../src/adapters/memory/MemoryMcp.ts"
import * as SocketIoClient from "../src/adapters/socketio/client/SocketIoClient.ts"
import type { AgentEvent } from "../src/application/agent/Agent.ts"
import {
  A2cError,
  type ConnectedAgent,
  connectAgent,
  type LogLine,
  runComputer,
  type RunningComputer,
  type RunningServer,
  runServer,
  type ServerOptions
} from "../src/main/entrypoints/promise.ts"
import { loopbackAddress, unusedUrl } from "./loopbackAddress.ts"
import { computerUnderTest, resource } from "./conformance/members.ts"
import { firstText } from "./firstText.ts"

const node = (...args: ReadonlyArray<string>) => ({
  type: "stdio",
  server_parameters: { command: process.execPath, args }
})
const approved = { default_tool_meta: { auto_apply: true } }
const contract = { ...node("test/fixtures/contractServer.ts", "stdio"), ...approved }
const notes = { ...node("src/main/demo/notesServer.ts"), ...approved }

/** An office with its Server, and the log of all participants. */
interface Office {
  readonly server: RunningServer
  readonly logs: ReadonlyArray<LogLine>
  readonly computer: (servers?: object, more?: Partial<Parameters<typeof runComputer>[0]>) => Promise<RunningComputer>
  readonly agent: (more?: Partial<Parameters<typeof connectAgent>[0]>) => Promise<ConnectedAgent>
}

/** Runs a test in a new office, then closes all participants in reverse order. */
const inOffice =
  (test: (office: Office) => Promise<void>, options: Partial<ServerOptions> = {}) =>
  async (): Promise<void> => {
    const logs: Array<LogLine> = []
    const log = (line: LogLine) => void logs.push(line)
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await runServer({ authenticate: "allowAll", ...options, log }))
    const place = { url: server.url, office: "team", log }
    await test({
      server,
      logs,
      computer: async (servers = {}, more = {}) =>
        stack.use(await runComputer({ ...place, name: "desk", config: { servers }, ...more })),
      agent: async (more = {}) => stack.use(await connectAgent({ ...place, name: "thinker", ...more }))
    })
  }

/** The rejection of a promise. */
const rejection = async (promise: Promise<unknown>): Promise<A2cError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, A2cError)
    return error as A2cError
  }
  throw new Error("the promise was not rejected")
}

/** The first value that a predicate accepts. */
const first = async <A>(values: AsyncIterable<A>, accepts: (value: A) => boolean): Promise<A> => {
  for await (const value of values) if (accepts(value)) return value
  throw new Error("the iteration ended without an accepted value")
}

/** Counts the started and cancelled calls of the tool `wait`. */
const waits = async (computer: RunningComputer) => {
  const { content } = await computer.callTool({ tool: "waits" })
  return JSON.parse(firstText({ content })) as { readonly started: number; readonly cancelled: number }
}
async function* poll<A>(query: () => Promise<A>): AsyncGenerator<A> {
  while (true) {
    yield await query()
    await setImmediate() // a query may resolve without I/O and would then starve the I/O
  }
}

describe("connectAgent", () => {
  it(
    "offers the office as an MCP client with calls that can be aborted",
    inOffice(async ({ agent, computer }) => {
      await computer({ notes })
      const client = await (await agent()).mcpClient()
      assert.includeMembers(
        (await client.allTools()).map(({ name }) => name),
        ["computers_list", "desk__add_note"]
      )
      const result = await client.callTool({ name: "desk__add_note", arguments: { text: "hi" } })
      assert.include(JSON.stringify(result.content), "is on the board")
      const stopped = AbortSignal.abort(new Error("not needed any more"))
      const given = client.callTool({ name: "desk__clear_notes" }, undefined, { signal: stopped })
      assert.include(String(await given.catch((error: unknown) => error)), "not needed any more")
    })
  )

  it(
    "queries Computers and calls tools without the name of the only owner",
    inOffice(async ({ agent, computer }) => {
      await computer({ contract })
      const thinker = await agent()
      const result = await thinker.callTool({ tool: "echo", params: { a: 1 } })
      assert.deepStrictEqual(result.content, [{ type: "text", text: '{"a":1}' }])
      const names = (await thinker.members()).map(({ name }) => name).sort()
      assert.deepStrictEqual(names, ["desk", "thinker"])
      assert.include(
        (await thinker.getTools("desk")).map(({ name }) => name),
        "echo"
      )
      assert.deepStrictEqual(Object.keys((await thinker.getConfig("desk")).servers), ["contract"])
      assert.lengthOf((await thinker.getResources("desk", "contract")).resources, 3)
      assert.lengthOf(await thinker.allResources("desk", "contract"), 3)
      assert.deepStrictEqual(await thinker.findDocuments("desk", { limit: 1 }), {
        documents: [],
        totalCount: 0
      })
    })
  )

  it(
    "follows the desktop of a Computer",
    inOffice(async ({ agent, computer }) => {
      await computer({ notes })
      const thinker = await agent()
      await thinker.settled()
      const shown = first(
        thinker.changesOf("desk"),
        (view) => view?.desktop?.some((window) => window.includes("- milk")) === true
      )
      await thinker.callTool({ tool: "add_note", params: { text: "milk" } })
      await shown
      const [window] = await thinker.getDesktop("desk", { size: 1 })
      assert.include(window, "- milk")
      assert.deepStrictEqual([...(await thinker.view()).computers.keys()], ["desk"])
    })
  )

  it(
    "cancels a call on the Computer when its signal aborts",
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({ contract })
      const thinker = await agent()
      const controller = new AbortController()
      const reason = new Error("changed my mind")
      const call = rejection(thinker.callTool({ tool: "wait" }, controller))
      await first(
        poll(() => waits(desk)),
        ({ started }) => started === 1
      )
      controller.abort(reason)
      const error = await call
      assert.strictEqual(error.code, "aborted")
      assert.strictEqual(error.cause, reason)
      await first(
        poll(() => waits(desk)),
        ({ cancelled }) => cancelled === 1
      )
    })
  )

  it(
    "sends no request when the signal has aborted before",
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({ contract })
      const thinker = await agent()
      const error = await rejection(thinker.callTool({ tool: "wait" }, { signal: AbortSignal.abort() }))
      assert.strictEqual(error.code, "aborted")
      assert.strictEqual((await waits(desk)).started, 0)
    })
  )

  it(
    "cancels its calls when it is closed and rejects them with `closed`",
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({ contract })
      const thinker = await agent()
      const call = rejection(thinker.callTool({ tool: "wait" }))
      await first(
        poll(() => waits(desk)),
        ({ started }) => started === 1
      )
      await thinker.close()
      assert.strictEqual((await call).code, "closed")
      await first(
        poll(() => waits(desk)),
        ({ cancelled }) => cancelled === 1
      )
    })
  )

  it(
    "closes more than once and rejects later calls",
    inOffice(async ({ agent }) => {
      const thinker = await agent()
      await Promise.all([thinker.close(), thinker.close()])
      await thinker.close()
      const error = await rejection(thinker.members())
      assert.deepStrictEqual([error.code, error.message], ["closed", "The instance is closed"])
      assert.strictEqual((await rejection(first(thinker.events(), () => true))).code, "closed")
    })
  )

  it(
    "leaves the office at the end of an await using block",
    inOffice(async ({ agent, server }) => {
      {
        await using thinker = await agent()
        assert.lengthOf(await thinker.members(), 1)
      }
      await first(
        poll(() => server.load()),
        ({ connections }) => connections === 0
      )
    })
  )

  it(
    "rejects with the code and the additional fields of a protocol error",
    inOffice(async ({ agent, computer }) => {
      await computer({})
      const thinker = await agent()
      assert.strictEqual((await rejection(thinker.getTools("absent"))).code, 404)
      const missing = await rejection(thinker.getResources("desk", "none"))
      assert.deepStrictEqual([missing.code, missing.extra], [4014, { mcp_server: "none" }])
    })
  )

  it(
    "rejects a call when several Computers or no Computer has the tool",
    inOffice(async ({ agent, computer }) => {
      await computer({ contract })
      await computer({ contract }, { name: "lab" })
      const thinker = await agent()
      const several = await rejection(thinker.callTool({ tool: "echo" }))
      assert.deepStrictEqual([several.code, several.extra?.owners], ["ambiguous_tool", ["desk", "lab"]])
      assert.strictEqual(several.message, 'Several Computers have a tool "echo": name one of desk, lab')
      const none = await rejection(thinker.callTool({ tool: "fly" }))
      assert.strictEqual(none.message, 'No Computer of this office has a tool "fly"')
    })
  )

  it.live("fetches a document from the location that its Computer states", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => runServer({ authenticate: "allowAll", log: () => undefined })),
        ({ close }) => Effect.promise(close)
      )
      const { resolve } = yield* makeDocumentServer()
      const uri = "dpe://com.ex.docs/report"
      const docs = yield* MemoryMcp.makeMemoryMcpServer({ resources: [resource(uri, ["all is well"])] })
      yield* computerUnderTest(
        { client: SocketIoClient.layer({ url: server.url }), logging: Logger.layer([]) },
        { office: "team", name: "desk", servers: { docs }, settings: { resolveDpe: resolve } }
      )
      yield* Effect.promise(async () => {
        await using thinker = await connectAgent({ url: server.url, office: "team", name: "thinker" })
        const { bytes } = await thinker.fetchDocument("desk", uri)
        assert.strictEqual(new TextDecoder().decode(bytes), "all is well")
        const tooLarge = await rejection(thinker.fetchDocument("desk", uri, { maxBytes: 3 }))
        assert.strictEqual(tooLarge.code, "document_unreadable")
        assert.strictEqual((await rejection(thinker.fetchDocument("desk", "http://x"))).code, 4012)
      })
    })
  )

  it("rejects with `unreachable` when no Server listens", async () => {
    const url = unusedUrl()
    const error = await rejection(connectAgent({ url, office: "team", name: "thinker" }))
    assert.strictEqual(error.code, "unreachable")
    assert.include(error.message, url)
  })

  it("stops connecting when the signal aborts", async () => {
    const controller = new AbortController()
    const connecting = rejection(
      connectAgent(
        {
          url: unusedUrl(),
          office: "team",
          name: "thinker",
          retryInitialConnect: true,
          log: () => controller.abort()
        },
        { signal: controller.signal }
      )
    )
    assert.strictEqual((await connecting).code, "aborted")
  })

  it(
    "rejects with `disconnected` while the Server is away",
    inOffice(async ({ agent, computer, server }) => {
      await computer({})
      const thinker = await agent()
      const lost = first(thinker.status(), ({ _tag }) => _tag === "Disconnected")
      await server.close()
      await lost
      assert.strictEqual((await rejection(thinker.getTools("desk"))).code, "disconnected")
    }, loopbackAddress())
  )

  it(
    "rejects with the code of the Server without valid credentials",
    inOffice(
      async ({ agent }) => {
        const error = await rejection(agent({ auth: { key: "wrong" } }))
        assert.strictEqual(error.code, 401)
        const thinker = await agent({ auth: { key: "right" } })
        assert.lengthOf(await thinker.members(), 1)
      },
      {
        authenticate: ({ auth }) => (auth as { readonly key?: unknown }).key === "right"
      }
    )
  )

  it(
    "renews its token before every connection and acts within its grants",
    inOffice(
      async ({ agent }) => {
        const tokens = ["thinker", "absent"]
        const token = async () => tokens.shift() ?? ""
        const thinker = await agent({ token })
        assert.lengthOf(await thinker.members(), 1)
        assert.strictEqual((await rejection(agent({ token }))).code, 401)
        const elsewhere = await rejection(agent({ token: "thinker", office: "other" }))
        assert.deepInclude(elsewhere, {
          code: "join_rejected",
          message: "'thinker' may not join office 'other'"
        })
        const failing = await rejection(agent({ token: () => Promise.reject(new Error("it is locked")) }))
        assert.strictEqual(failing.code, "unreachable")
        assert.match(failing.message, /it is locked/)
      },
      {
        authenticate: ({ auth }) =>
          (auth as { readonly token?: unknown }).token === "thinker" && {
            subject: "thinker",
            grants: { rights: ["agent"], offices: ["team"], names: ["*"] },
            expiresAt: undefined
          }
      }
    )
  )
})

describe("event stream", () => {
  const entered = (event: AgentEvent) => event._tag === "Entered"

  it(
    "yields events as they happen until the loop ends",
    inOffice(async ({ agent, computer }) => {
      const thinker = await agent()
      const coming = first(thinker.events(), entered)
      await computer({})
      assert.deepStrictEqual(await coming, {
        _tag: "Entered",
        membership: { office: "team", role: "computer", name: "desk" }
      })
    })
  )

  it(
    "ends by return() while a next() is pending",
    inOffice(async ({ agent }) => {
      const events = (await agent()).events()[Symbol.asyncIterator]()
      const next = events.next()
      assert.deepStrictEqual(await events.return?.(), { done: true, value: undefined })
      assert.isTrue((await next).done)
      assert.isTrue((await events.next()).done)
    })
  )

  it(
    "ends when the Agent is closed",
    inOffice(async ({ agent }) => {
      const thinker = await agent()
      const ends = [thinker.events(), thinker.changesOf("desk"), thinker.status(), thinker.changes()].map(
        async (values) => {
          const seen: Array<unknown> = []
          for await (const value of values) seen.push(value)
          return seen.length
        }
      )
      await thinker.settled()
      await thinker.close()
      assert.lengthOf(await Promise.all(ends), 4)
    })
  )

  it(
    "rejects when the signal aborts",
    inOffice(async ({ agent }) => {
      const controller = new AbortController()
      const coming = rejection(first((await agent()).events(controller), () => true))
      controller.abort()
      assert.strictEqual((await coming).code, "aborted")
    })
  )
})

describe("runComputer", () => {
  it(
    "starts, stops and reconfigures servers while it runs",
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({ contract })
      const standing = (await desk.servers()).get("contract")
      assert.strictEqual(standing?._tag === "Ready" ? standing.info.version : "", "1.2.3")
      assert.strictEqual((await desk.catalogue()).entries.get("echo")?.server, "contract")
      await desk.stop("contract")
      assert.strictEqual((await desk.servers()).get("contract")?._tag, "Stopped")
      await desk.start("contract")
      await desk.restart("contract")
      await first(desk.changes(), (servers) => servers.get("contract")?._tag === "Ready")
      const echo = await desk.callTool({ tool: "echo", params: { b: 2 }, timeout: 5 })
      assert.deepStrictEqual(echo.content, [{ type: "text", text: '{"b":2}' }])
      assert.deepStrictEqual(
        (await desk.history()).map(({ tool }) => tool),
        ["echo"]
      )
      const difference = await desk.reconfigure({ config: { servers: { notes } } })
      assert.deepStrictEqual([difference.added, difference.removed], [["notes"], ["contract"]])
      assert.deepStrictEqual(Object.keys((await desk.setup()).config.servers), ["notes"])
      await first(desk.changes(), (servers) => servers.get("notes")?._tag === "Ready")
      assert.lengthOf(await desk.desktop({ size: 1 }), 1)
      await desk.leave()
      assert.isUndefined(await desk.office())
      const thinker = await agent()
      const back = first(thinker.events(), ({ _tag }) => _tag === "Entered")
      await desk.join({ office: "team" })
      await back
      assert.strictEqual((await rejection(desk.join({ office: "team" }))).code, "already_joined")
      assert.strictEqual((await rejection(desk.start("nothing"))).code, "unknown_server")
    })
  )

  it.each(["0.3", "0.4"] as const)("joins again on line %s", async (protocol) =>
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({}, { protocol })
      const thinker = await agent({ protocol })
      await desk.leave()
      const back = first(thinker.events(), ({ _tag }) => _tag === "Entered")
      await desk.join({ office: "team" })
      await back
    })()
  )

  it(
    "calls its hooks and treats a throwing hook as a no",
    inOffice(async ({ agent, computer, logs }) => {
      const requests: Array<string> = []
      await computer(
        { contract: node("test/fixtures/contractServer.ts", "stdio") },
        {
          confirm: async ({ params, tool }) => {
            requests.push(tool)
            if (params["bad"] === true) throw new Error("the dialogue broke")
            return true
          }
        }
      )
      const thinker = await agent()
      assert.isFalse((await thinker.callTool({ tool: "echo" })).isError)
      assert.isTrue((await thinker.callTool({ tool: "echo", params: { bad: true } })).isError)
      assert.deepStrictEqual(requests, ["echo", "echo"])
      assert.isTrue(logs.some(({ cause }) => cause?.includes("the dialogue broke")))
    })
  )

  it(
    "decides by its policy hook before approved patterns, and explains that",
    inOffice(async ({ agent, computer, logs }) => {
      const desk = await computer(
        { contract: node("test/fixtures/contractServer.ts", "stdio") },
        {
          approve: ["contract/echo"],
          policy: ({ params, subject }) => {
            if (params["bad"] === true) throw new Error("the engine broke")
            return params["n"] === 1 ? { action: "deny", by: "the engine", reason: `not for ${subject}` } : undefined
          }
        }
      )
      const thinker = await agent()
      const call = async (params: { readonly [name: string]: unknown }) => thinker.callTool({ tool: "echo", params })
      assert.isFalse((await call({})).isError)
      assert.include(JSON.stringify((await call({ n: 1 })).content), "denied by this Computer: not for ")
      assert.isTrue((await call({ bad: true })).isError)
      assert.isTrue(logs.some(({ cause }) => cause?.includes("the engine broke")))
      const explanation = await desk.explain({ tool: "echo", params: { n: 1 }, subject: "me" })
      assert.deepStrictEqual(explanation?.decision, { action: "deny", by: "the engine", reason: "not for me" })
      assert.strictEqual((await desk.explain({ tool: "echo", subject: "me" }))?.decision.by, "approved pattern")
      assert.isTrue((await desk.callTool({ tool: "echo", params: { n: 1 }, requester: "me" })).isError)
      assert.isFalse((await desk.callTool({ tool: "echo", params: { n: 1 } })).isError)
    })
  )

  it(
    "resolves inputs from values and from hooks",
    inOffice(async ({ computer }) => {
      const desk = await computer(
        {},
        {
          config: {
            inputs: [
              { type: "promptString", id: "mode", description: "" },
              { type: "promptString", id: "file", description: "" }
            ],
            servers: { contract: { ...node("${input:file}", "${input:mode}"), ...approved } }
          },
          inputs: { values: { mode: "stdio" }, ask: async () => "test/fixtures/contractServer.ts" }
        }
      )
      assert.strictEqual((await desk.servers()).get("contract")?._tag, "Ready")
    })
  )

  it(
    "rejects an invalid configuration at the start and later",
    inOffice(async ({ computer }) => {
      const wrong = { servers: { a: { type: "pigeon" } } }
      const atOnce = await rejection(computer({}, { config: wrong }))
      assert.strictEqual(atOnce.code, "config_invalid")
      assert.include(atOnce.message, "type")
      const desk = await computer({})
      assert.strictEqual((await rejection(desk.reconfigure({ config: wrong }))).code, "config_invalid")
    })
  )
})
