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
import { computerUnderTest, resource } from "./conformance/members.ts"

const node = (...args: ReadonlyArray<string>) => ({
  type: "stdio",
  server_parameters: { command: process.execPath, args }
})
const approved = { default_tool_meta: { auto_apply: true } }
const contract = { ...node("test/fixtures/contractServer.ts", "stdio"), ...approved }
const notes = { ...node("src/main/demo/notesServer.ts"), ...approved }

/** What a test needs of an office, and what was logged by everybody. */
interface Office {
  readonly server: RunningServer
  readonly logs: ReadonlyArray<LogLine>
  readonly computer: (
    servers?: object,
    more?: Partial<Parameters<typeof runComputer>[0]>
  ) => Promise<RunningComputer>
  readonly agent: (more?: Partial<Parameters<typeof connectAgent>[0]>) => Promise<ConnectedAgent>
}

/** Runs a test in an office of its own; everything that was started is closed, last first. */
const inOffice =
  (test: (office: Office) => Promise<void>, options: ServerOptions = {}) =>
  async (): Promise<void> => {
    const logs: Array<LogLine> = []
    const log = (line: LogLine) => void logs.push(line)
    await using stack = new AsyncDisposableStack()
    const server = stack.use(await runServer({ ...options, log }))
    const place = { url: server.url, office: "team", log }
    await test({
      server,
      logs,
      computer: async (servers = {}, more = {}) =>
        stack.use(await runComputer({ ...place, name: "desk", config: { servers }, ...more })),
      agent: async (more = {}) => stack.use(await connectAgent({ ...place, name: "thinker", ...more }))
    })
  }

/** What a promise was rejected with. */
const rejection = async (promise: Promise<unknown>): Promise<A2cError> => {
  try {
    await promise
  } catch (error) {
    assert.instanceOf(error, A2cError)
    return error as A2cError
  }
  throw new Error("it was not rejected")
}

/** The first value that fits. */
const first = async <A>(values: AsyncIterable<A>, fits: (value: A) => boolean): Promise<A> => {
  for await (const value of values) if (fits(value)) return value
  throw new Error("it ended without one that fits")
}

/** How often the tool that waits was called, and cancelled. */
const waits = async (computer: RunningComputer) => {
  const { content } = await computer.callTool({ tool: "waits" })
  return JSON.parse(String(content[0]?.["text"])) as { readonly started: number; readonly cancelled: number }
}
async function* poll<A>(ask: () => Promise<A>): AsyncGenerator<A> {
  while (true) {
    yield await ask()
    await setImmediate() // what is asked may answer without any I/O, and must not keep I/O from happening
  }
}

describe("an Agent with promises", () => {
  it(
    "the office is an MCP client by its shape, and what it does can be stopped",
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
    "asks and calls, and needs no Computer's name where one has the tool",
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
    "cancels a call where it runs when its signal is aborted",
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
    "sends nothing when the signal is aborted already",
    inOffice(async ({ agent, computer }) => {
      const desk = await computer({ contract })
      const thinker = await agent()
      const error = await rejection(thinker.callTool({ tool: "wait" }, { signal: AbortSignal.abort() }))
      assert.strictEqual(error.code, "aborted")
      assert.strictEqual((await waits(desk)).started, 0)
    })
  )

  it(
    "cancels what runs when it is closed, and says so",
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
    "is closed as often as anybody likes, and rejects what is asked afterwards",
    inOffice(async ({ agent }) => {
      const thinker = await agent()
      await Promise.all([thinker.close(), thinker.close()])
      await thinker.close()
      const error = await rejection(thinker.members())
      assert.deepStrictEqual(
        [error.code, error.message],
        ["closed", "It was closed: nothing can be asked of it any more"]
      )
      assert.strictEqual((await rejection(first(thinker.events(), () => true))).code, "closed")
    })
  )

  it(
    "leaves the office at the end of its block",
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
    "rejects with the protocol's own code, and with what it says beside it",
    inOffice(async ({ agent, computer }) => {
      await computer({})
      const thinker = await agent()
      assert.strictEqual((await rejection(thinker.getTools("nobody"))).code, 404)
      const missing = await rejection(thinker.getResources("desk", "none"))
      assert.deepStrictEqual([missing.code, missing.extra], [404, { mcp_server_name: "none" }])
    })
  )

  it(
    "says which Computers have a tool when several do, and when none does",
    inOffice(async ({ agent, computer }) => {
      await computer({ contract })
      await computer({ contract }, { name: "lab" })
      const thinker = await agent()
      const several = await rejection(thinker.callTool({ tool: "echo" }))
      assert.strictEqual(several.code, "ambiguous_tool")
      assert.strictEqual(several.message, 'Several Computers have a tool "echo": name one of desk, lab')
      const none = await rejection(thinker.callTool({ tool: "fly" }))
      assert.strictEqual(none.message, 'No Computer of this office has a tool "fly"')
    })
  )

  it.live("fetches a document from where its Computer keeps it", () =>
    Effect.gen(function* () {
      const server = yield* Effect.acquireRelease(
        Effect.promise(() => runServer({ log: () => undefined })),
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

  it("says that nobody listens there", async () => {
    const server = await runServer()
    await server.close()
    const error = await rejection(connectAgent({ url: server.url, office: "team", name: "thinker" }))
    assert.strictEqual(error.code, "unreachable")
    assert.include(error.message, server.url)
  })

  it("gives up to connect when it is told to", async () => {
    const server = await runServer()
    await server.close()
    const controller = new AbortController()
    const connecting = rejection(
      connectAgent(
        {
          url: server.url,
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
    "rejects with `disconnected` while its Server is gone",
    inOffice(async ({ agent, computer, server }) => {
      await computer({})
      const thinker = await agent()
      const lost = first(thinker.status(), ({ _tag }) => _tag === "Disconnected")
      await server.close()
      await lost
      assert.strictEqual((await rejection(thinker.getTools("desk"))).code, "disconnected")
    })
  )

  it(
    "is refused by a Server that does not know it",
    inOffice(
      async ({ agent }) => {
        const error = await rejection(agent({ auth: { key: "wrong" } }))
        assert.strictEqual(error.code, 401)
        const thinker = await agent({ auth: { key: "right" } })
        assert.lengthOf(await thinker.members(), 1)
      },
      {
        settings: {
          authenticate: ({ auth }) => (auth as { readonly key?: unknown }).key === "right"
        }
      }
    )
  )

  it(
    "may do what its Server grants, by a token that is asked for anew each time",
    inOffice(
      async ({ agent }) => {
        const tokens = ["thinker", "nobody"]
        const token = async () => tokens.shift() ?? ""
        const thinker = await agent({ token })
        assert.lengthOf(await thinker.members(), 1)
        assert.strictEqual((await rejection(agent({ token }))).code, 401)
        const elsewhere = await rejection(agent({ token: "thinker", office: "other" }))
        assert.deepInclude(elsewhere, {
          code: "join_rejected",
          message: "'thinker' may not join room 'other'"
        })
        const failing = await rejection(agent({ token: () => Promise.reject(new Error("it is locked")) }))
        assert.strictEqual(failing.code, "unreachable")
        assert.match(failing.message, /it is locked/)
      },
      {
        settings: {
          authenticate: ({ auth }) =>
            (auth as { readonly token?: unknown }).token === "thinker" && {
              subject: "thinker",
              grants: { rights: ["agent"], offices: ["team"], names: ["*"] },
              expiresAt: undefined
            }
        }
      }
    )
  )
})

describe("events", () => {
  const entered = (event: AgentEvent) => event._tag === "Entered"

  it(
    "come as they happen, until the loop is left",
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
    "end with return(), even while one is waited for",
    inOffice(async ({ agent }) => {
      const events = (await agent()).events()[Symbol.asyncIterator]()
      const next = events.next()
      assert.deepStrictEqual(await events.return?.(), { done: true, value: undefined })
      assert.isTrue((await next).done)
      assert.isTrue((await events.next()).done)
    })
  )

  it(
    "end when the Agent is closed",
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
    "are rejected when their signal is aborted",
    inOffice(async ({ agent }) => {
      const controller = new AbortController()
      const coming = rejection(first((await agent()).events(controller), () => true))
      controller.abort()
      assert.strictEqual((await coming).code, "aborted")
    })
  )
})

describe("a Computer with promises", () => {
  it(
    "is operated while it runs",
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

  it(
    "asks its hooks, and takes a hook that throws for a no",
    inOffice(async ({ agent, computer, logs }) => {
      const asked: Array<string> = []
      await computer(
        { contract: node("test/fixtures/contractServer.ts", "stdio") },
        {
          settings: {
            confirm: async ({ params, tool }) => {
              asked.push(tool)
              if (params["bad"] === true) throw new Error("the dialogue broke")
              return true
            }
          }
        }
      )
      const thinker = await agent()
      assert.isFalse((await thinker.callTool({ tool: "echo" })).isError)
      assert.isTrue((await thinker.callTool({ tool: "echo", params: { bad: true } })).isError)
      assert.deepStrictEqual(asked, ["echo", "echo"])
      assert.isTrue(logs.some(({ cause }) => cause?.includes("the dialogue broke")))
    })
  )

  it(
    "fills in what it is given, and what it asks for",
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
    "says what is wrong with a configuration, first and later",
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
