import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from "@modelcontextprotocol/client"
import { StdioClientTransport as ModernStdio } from "@modelcontextprotocol/client/stdio"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { computer, server } from "./offices.ts"
import { a2c, cli, everythingServer, node, onTerminal, outcomeOf, temporaryFile } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const mcpServers = { everything: { command: process.execPath, args: [everythingServer] } }

/** The tool of MCP's server-everything that asks for a form of all kinds of fields. */
const tool = "trigger-elicitation-request"

const content = { name: "Ada", integer: 7, titledMultipleSelectEnum: ["fish-1", "fish-3"] }

/** A client that answers questions. */
interface Host {
  readonly call: (name: string) => Promise<string>
  readonly requests: ReadonlyArray<string>
  readonly close: () => Promise<void>
}

const capabilities = { elicitation: { form: {}, url: {} } }

const older = async (transport: Transport): Promise<Host> => {
  const client = new Client({ name: "older", version: "1" }, { capabilities })
  const requests: Array<string> = []
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    requests.push(params.message)
    return { action: "accept", content }
  })
  await client.connect(transport)
  return {
    requests,
    call: async (name) => JSON.stringify(await client.callTool({ name, arguments: {} })),
    close: () => client.close()
  }
}

const newer = async (transport: ModernStdio | ModernHttp): Promise<Host> => {
  const client = new ModernClient(
    { name: "newer", version: "1" },
    { capabilities, versionNegotiation: { mode: "auto" } }
  )
  const requests: Array<string> = []
  client.setRequestHandler("elicitation/create", ({ params }) => {
    requests.push(params.message)
    return { action: "accept", content }
  })
  await client.connect(transport)
  return {
    requests,
    call: async (name) => JSON.stringify(await client.callTool({ name, arguments: {} })),
    close: () => client.close()
  }
}

const answers = (open: () => Promise<Host>, name: string) =>
  Effect.gen(function* () {
    const { requests, call } = yield* Effect.acquireRelease(Effect.promise(open), ({ close }) => Effect.promise(close))
    const result = yield* Effect.promise(() => call(name))
    assert.include(result, "User provided the requested information")
    assert.include(result, "fish-3")
    assert.deepStrictEqual(requests, ["Please provide inputs for the following fields:"])
  }).pipe(Effect.scoped)

/** Publishes an office over HTTP, and gives its address. */
const publish = Effect.fnUntraced(function* (...place: ReadonlyArray<string>) {
  const bridge = yield* a2c("agent", ...place, "mcp", "--http", "0")
  const printed = yield* bridge.prints("publishing office ")
  return printed.slice(printed.indexOf("http"))
})

describe("question of a real MCP server", () => {
  it.live("reaches hosts of a published office in both eras and on both transports", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "team", "desk", mcpServers)
      const place = ["--server", url, "--office", "team", "--name", "bridge"]
      const http = new URL(yield* publish(...place))
      const name = `desk__${tool}`
      yield* answers(() => older(new StreamableHTTPClientTransport(http) as Transport), name)
      yield* answers(() => newer(new ModernHttp(http)), name)
      const stdio = { command: process.execPath, args: [cli, "agent", ...place, "--take-over", "mcp"] }
      yield* answers(() => older(new StdioClientTransport(stdio)), name)
      yield* answers(() => newer(new ModernStdio(stdio)), name)
    })
  )

  it.live("passes an office inside an office", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "inner", "desk", mcpServers)
      const inner = ["--server", url, "--office", "inner", "--name", "bridge", "mcp"]
      yield* computer(url, "outer", "hub", { office: { command: process.execPath, args: [cli, "agent", ...inner] } })
      const http = new URL(yield* publish("--server", url, "--office", "outer", "--name", "bridge"))
      yield* answers(() => newer(new ModernHttp(http)), `hub__desk__${tool}`)
    })
  )

  it.live("is listed, shown and answered by commands of the calling Agent", () =>
    Effect.gen(function* () {
      const url = yield* server
      const config = yield* temporaryFile("mcp.json", JSON.stringify({ mcpServers }))
      const options = ["--server", url, "--name", "desk", "--config", config, "--approve", "*", "--approvers", "page"]
      const desk = yield* a2c("computer", ...options, "--interactive")
      yield* desk.types("join o")
      yield* desk.prints("joined office o")
      const variables = { XDG_RUNTIME_DIR: yield* temporaryFolder }
      const agent = (...args: ReadonlyArray<string>) =>
        node([cli, "agent", "--server", url, "--office", "o", ...args], variables)
      const run = (...args: ReadonlyArray<string>) => Effect.flatMap(agent(...args), outcomeOf)
      const calling = yield* agent("call", tool)
      yield* calling.prints("waiting for the answer to a question at desk", "stderr")
      const listed = yield* Effect.repeat(run("approvals"), { until: ({ code }) => code === 0 })
      assert.match(listed.stdout, /trigger-elicitation-request\s.*question\s+Please provide inputs/)
      const id = listed.stdout.split(" ", 1)[0] ?? ""
      assert.include((yield* run("approvals", "show", id)).stdout, '"title": "Green Lantern"')
      const invalid = yield* run("approvals", "answer", id, "name=Ada", "email=nonsense")
      assert.strictEqual(invalid.code, 1)
      assert.include(invalid.stderr, "/email: must match format")
      const answered = yield* run("approvals", "answer", id, "name=Ada", "integer=7")
      assert.include(answered.stdout, `${tool}: answered by agent a2c-agent`)
      assert.strictEqual(yield* calling.ended, 0)
      assert.include(calling.stdout(), "User provided the requested information")
    })
  )

  it.live.each(["is answered elsewhere", "loses the command that shares its connection"])(
    "ends the command that answers it when it %s",
    (cause) =>
      Effect.gen(function* () {
        const url = yield* server
        yield* computer(url, "o", "desk", mcpServers, "--approvers", "page")
        const variables = { XDG_RUNTIME_DIR: yield* temporaryFolder }
        const words = [cli, "agent", "--server", url, "--office", "o"]
        const run = (...args: ReadonlyArray<string>) => Effect.flatMap(node([...words, ...args], variables), outcomeOf)
        const calling = yield* node([...words, "call", tool], variables)
        yield* calling.prints(`a2c agent --server ${url} --office o approvals answer `, "stderr")
        const listed = yield* Effect.repeat(run("approvals"), { until: ({ code }) => code === 0 })
        const id = listed.stdout.split(" ", 1)[0] ?? ""
        const answering = yield* onTerminal([...words, "approvals", "answer", id], variables)
        yield* answering.prints("Answer it?")
        if (cause === "is answered elsewhere") {
          assert.strictEqual((yield* run("approvals", "answer", id, "name=Ada", "integer=7")).code, 0)
        } else process.kill(calling.pid, "SIGKILL")
        assert.strictEqual(yield* answering.ended, 1)
        assert.include(answering.stdout(), "(question withdrawn: it was answered elsewhere, or its call has ended)")
        assert.include(answering.stdout(), "Not answered: the question is not open any more")
      })
  )

  it.live("is declined at once without a responder", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "o", "desk", mcpServers)
      const calling = yield* a2c("agent", "--server", url, "--office", "o", "call", tool)
      assert.strictEqual(yield* calling.ended, 0)
      assert.include(calling.stdout(), "declined")
      assert.notInclude(calling.stderr(), "question")
    })
  )
})
