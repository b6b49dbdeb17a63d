import { mkdir, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import type { McpSession } from "../../../src/application/ports/McpSession.ts"
import type { ComputerOptions, ServerStateView } from "../../../src/main/entrypoints/promise.ts"
import type { ConnectionOptions } from "../../../src/main/promise/ConnectedAgent.ts"
import { makeMemoryMcpServer, type MemoryMcpServerOptions } from "../../../src/adapters/memory/MemoryMcp.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { json, makeHttpPeer } from "../../adapters/mcp/client/http/HttpPeer.ts"
import { makeGuarded } from "../../fixtures/oauth.ts"
import { resource, textResult, tool } from "../../conformance/members.ts"
import { firstText } from "../../firstText.ts"
import { codeOf, firstOf, inOffice, waitLimit, type PromiseOffice, silentUrl } from "./promiseOffice.ts"
import { type OptionRows, testOptions } from "./optionRows.ts"

type OwnOptions = Omit<
  ComputerOptions,
  keyof ConnectionOptions | "name" | "office" | "protocol" | "retryInitialConnect" | "takeOver" | "inputs" | "settings"
>
type Inputs = NonNullable<ComputerOptions["inputs"]>
type Settings = NonNullable<ComputerOptions["settings"]>

const free = { default_tool_meta: { auto_apply: true } }
const echo = tool("echo", () => Effect.succeed(textResult("echoed")))
const schema = { type: "object", properties: { name: { type: "string" } } }
const asking = tool("ask", (_, { ask: request }) =>
  Effect.map(request({ mode: "form", message: "who?", schema }), ({ action }) => textResult(action))
)
const reporting = tool("report", (_, { progress }) => Effect.as(progress({ progress: 7 }), textResult("done")))
const parts = { tools: [echo, asking, reporting] }

/** A Computer with one MCP server `alpha` in this process. */
const computerWith = async (
  office: PromiseOffice,
  options: Partial<ComputerOptions>,
  {
    change,
    config = free,
    mcp = parts
  }: {
    readonly mcp?: MemoryMcpServerOptions
    readonly change?: (session: McpSession) => McpSession
    readonly config?: object
  } = {}
) => {
  const alpha = { ...(await office.mcpServer(mcp, change)), ...config }
  return office.computer({ config: { servers: { alpha } }, ...options })
}

const callText = async (office: PromiseOffice, name = "echo") =>
  firstText(await (await office.agent()).callTool({ tool: name }))

/** What an Agent gets from a call that needs consent. */
const called = (options: Partial<ComputerOptions>) =>
  inOffice(async (office) => {
    await computerWith(office, options, { config: {} })
    return (await callText(office)) === "echoed"
  })

const always = ["operator_names", "inspection"]

/** What the Computer announces to its Server beyond the protocol. */
const featuresWith = async (options: Partial<ComputerOptions>) => {
  let features: unknown
  await inOffice((office) => office.computer(options), {
    authenticate: ({ auth }) => {
      features = (auth as { readonly a2c_features?: unknown }).a2c_features
      return true
    }
  })
  return features
}

const stateOf = (states: ReadonlyMap<string, ServerStateView>) => states.get("alpha")?._tag

/** The state of an MCP server whose URL has an input. */
const stateWithInputs = (input: object, inputs: Partial<Inputs>, given?: (port: string) => Partial<Inputs>) =>
  inOffice(async (office) => {
    const { server_parameters, ...rest } = await office.mcpServer(parts)
    const { port } = new URL(server_parameters.url)
    const url = server_parameters.url.replace(port, "${input:port}")
    const config = { inputs: [{ id: "port", ...input }], servers: { alpha: { ...rest, server_parameters: { url } } } }
    const desk = await office.computer({ config, inputs: given === undefined ? inputs : given(port) })
    return stateOf(await desk.servers()) === "Ready"
  })

const prompted = { type: "promptString", description: "" }

const optionRows: OptionRows<OwnOptions> = {
  config: [
    { config: { servers: {} } },
    [["alpha"], []],
    (given) => inOffice(async (office) => [...(await (await computerWith(office, given)).servers()).keys()])
  ],
  variables: [
    { variables: { alpha: { path: "mcp" } } },
    [false, true],
    (given) =>
      inOffice(async (office) => {
        const { server_parameters, ...rest } = await office.mcpServer(parts)
        const url = server_parameters.url.replace(/mcp$/, "${path}")
        const desk = await office.computer({
          ...given,
          config: { servers: { alpha: { ...rest, server_parameters: { url } } } }
        })
        return stateOf(await desk.servers()) === "Ready"
      })
  ],
  tools: [
    { tools: [{ name: "shout", run: () => "" }] },
    [[], ["shout"]],
    (given) => inOffice(async (office) => [...(await (await office.computer(given)).catalogue()).entries.keys()])
  ],
  windows: [
    { windows: [{ name: "clock", text: () => "noon" }] },
    [[], ["window://functions/clock\n\nnoon"]],
    (given) => inOffice(async (office) => (await office.computer(given)).desktop())
  ],
  documents: [
    { documents: [{ name: "plan", pages: 1, read: () => "" }] },
    [[], ["dpe://functions/plan"]],
    (given) =>
      inOffice(async (office) => {
        await office.computer(given)
        return (await (await office.agent()).findDocuments("desk")).documents.map(({ uri }) => uri)
      })
  ],
  operators: [{ operators: { calls: true } }, [always, [...always, "operator_calls"]], featuresWith],
  approvers: [{ approvers: ["page"] }, [always, [...always, "approvals"]], featuresWith],
  skills: [
    { skills: {} },
    [[], ["greet"]],
    (given) =>
      inOffice(async (office) => {
        const userFolder = await office.folder()
        await mkdir(join(userFolder, "greet"))
        await writeFile(
          join(userFolder, "greet", "SKILL.md"),
          "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n"
        )
        await office.computer("skills" in given ? { skills: { userFolder } } : {})
        return (await (await office.agent()).skills("desk")).map(({ name }) => name)
      })
  ],
  uploads: [
    { uploads: { folder: "" } },
    [4019, "resolved"],
    (given) =>
      inOffice(async (office) => {
        const folder = await office.folder()
        await office.computer({ protocol: "0.4", ...("uploads" in given && { uploads: { folder } }) })
        return codeOf((await office.agent({ protocol: "0.4" })).putBlob("desk", new Uint8Array([1])))
      })
  ],
  catalogues: [
    { catalogues: "" },
    [0, 1],
    (given) =>
      inOffice(async (office) => {
        const catalogues = await office.folder()
        await computerWith(office, "catalogues" in given ? { catalogues } : {}, { config: { lifecycle: "lazy" } })
        return (await readdir(catalogues)).length
      })
  ],
  approve: [{ approve: ["alpha/echo"] }, [false, true], called],
  policy: [{ policy: () => ({ action: "allow", by: "test" }) as const }, [false, true], called],
  confirm: [{ confirm: () => true }, [false, true], called],
  onInput: [
    { onInput: () => ({ action: "accept", content: { name: "Ada" } }) as const },
    ["decline", "accept"],
    (given) =>
      inOffice(async (office) => {
        await computerWith(office, given)
        return callText(office, "ask")
      })
  ],
  clientMetadataUrl: [
    { clientMetadataUrl: "https://desk.example/client.json" },
    [false, true],
    (given) =>
      inOffice(async (office) => {
        const guarded = await office.acquire(makeGuarded)
        guarded.behaviour.metadata = { client_id_metadata_document_supported: true }
        const alpha = { type: "streamable", server_parameters: { url: String(guarded.streamable) } }
        const url = await new Promise<string>((resolve) => {
          void codeOf(
            office.computer({ config: { servers: { alpha } }, authorize: (one) => resolve(one.url), ...given })
          )
        })
        return new URL(url).searchParams.get("client_id") === "https://desk.example/client.json"
      })
  ],
  mcpRevision: [
    { mcpRevision: "2026-07-28" },
    ["initialize", "server/discover"],
    (given) =>
      inOffice(async (office) => {
        const peer = await office.acquire(makeHttpPeer((_, response) => response.writeHead(500).end()))
        const alpha = { type: "streamable", server_parameters: { url: peer.url } }
        await office.computer({ config: { servers: { alpha } }, ...given })
        while (peer.requests.length === 0) await setTimeout(10)
        return peer.requests[0]
      })
  ],
  authorize: [
    { authorize: () => undefined },
    ["not asked", "asked"],
    (given) =>
      inOffice(async (office) => {
        const url = String((await office.acquire(makeGuarded)).streamable)
        const alpha = { type: "streamable", server_parameters: { url } }
        return new Promise((resolve) => {
          waitLimit("authorize" in given).signal.addEventListener("abort", () => resolve("not asked"))
          const authorize = () => resolve("asked")
          void codeOf(office.computer({ config: { servers: { alpha } }, ...("authorize" in given && { authorize }) }))
        })
      })
  ]
}

const inputRows: OptionRows<Inputs> = {
  values: [
    { values: {} },
    [false, true],
    (given) => stateWithInputs(prompted, {}, (port) => ("values" in given ? { values: { port } } : {}))
  ],
  ask: [
    { ask: () => "" },
    [false, true],
    (given) => stateWithInputs(prompted, {}, (port) => ("ask" in given ? { ask: () => port } : {}))
  ],
  run: [
    { run: () => "" },
    [false, true],
    (given) =>
      stateWithInputs({ type: "command", command: "port" }, {}, (port) => ("run" in given ? { run: () => port } : {}))
  ]
}

/** A session whose requests of one kind take a time. */
const slowed =
  (part: Partial<Pick<McpSession, "readResource" | "listTools">>) =>
  (session: McpSession): McpSession => ({ ...session, ...part })

const window = { resources: [resource("window://com.example.notes/main")] }

const settingRows: OptionRows<Settings> = {
  connectTimeout: [
    { connectTimeout: 50 },
    ["Starting", "BackingOff"],
    (settings) =>
      inOffice(async (office) => {
        const url = await silentUrl(office.defer)
        const alpha = { type: "streamable", server_parameters: { url } }
        const desk = await office.computer({
          config: { servers: { alpha } },
          settings: { startupTimeout: 1000, ...settings }
        })
        return stateOf(await desk.servers())
      })
  ],
  startupTimeout: [
    { startupTimeout: 0 },
    ["Ready", "Starting"],
    (settings) =>
      inOffice(async (office) => {
        const change = slowed({
          listTools: () => Effect.delay(Effect.succeed({ items: [], nextCursor: undefined }), 300)
        })
        return stateOf(await (await computerWith(office, { settings }, { change })).servers())
      })
  ],
  readTimeout: [
    { readTimeout: 50 },
    ["aborted", "resolved"],
    (settings) =>
      inOffice(async (office) => {
        const change = slowed({ readResource: () => Effect.never })
        const desk = await computerWith(office, { settings }, { mcp: window, change })
        return codeOf(desk.desktop(waitLimit("readTimeout" in settings)))
      })
  ],
  keepaliveInterval: [
    { keepaliveInterval: 50 },
    [false, true],
    (settings) =>
      inOffice(async (office) => {
        const peer = await office.acquire(
          makeHttpPeer(({ id, method, verb }, response) => {
            if (verb !== "POST") return response.writeHead(405).end()
            if (id === undefined) return response.writeHead(202).end()
            const info = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: { name: "a", version: "1" } }
            return json(response, id, { result: method === "initialize" ? info : {} })
          })
        )
        const alpha = { type: "streamable", server_parameters: { url: peer.url } }
        await office.computer({ config: { servers: { alpha } }, settings })
        const { signal } = waitLimit("keepaliveInterval" in settings)
        while (!signal.aborted && !peer.requests.includes("ping")) await setTimeout(10)
        return peer.requests.includes("ping")
      })
  ],
  changeThrottle: [
    { changeThrottle: 60_000 },
    [true, false],
    (settings) =>
      inOffice(async (office) => {
        const memory = await office.acquire(makeMemoryMcpServer({ tools: [echo] }))
        const session = Effect.flatMap(memory.connect, (one) => publishHttp(one, { port: 0, token: "allowAll" }))
        const alpha = { type: "streamable", server_parameters: { url: (await office.acquire(session)).url } }
        await office.computer({ config: { servers: { alpha } }, settings })
        const agent = await office.agent()
        await agent.settled()
        for (const name of ["one", "other"]) await Effect.runPromise(memory.setTools([tool(name)]))
        const changed = await firstOf(
          agent.changesOf("desk", waitLimit(!("changeThrottle" in settings))),
          (view) => view?.tools?.[0]?.name === "other"
        )
        return changed !== undefined
      })
  ],
  approvalTimeout: [
    { approvalTimeout: 50 },
    ["aborted", "resolved"],
    (settings) =>
      inOffice(async (office) => {
        await computerWith(office, { settings, confirm: () => new Promise(() => undefined) }, { config: {} })
        return codeOf((await office.agent()).callTool({ tool: "echo" }, waitLimit("approvalTimeout" in settings)))
      })
  ],
  lifecycle: [
    { lifecycle: "lazy" },
    ["Ready", "Idle"],
    (settings) => inOffice(async (office) => stateOf(await (await computerWith(office, { settings })).servers()))
  ],
  idle: [
    { idle: 50 },
    [undefined, "Idle"],
    (settings) =>
      inOffice(async (office) => {
        const desk = await computerWith(office, { settings: { lifecycle: "lazy", ...settings } })
        await desk.callTool({ tool: "echo" })
        const idle = await firstOf(desk.changes(waitLimit("idle" in settings)), (states) => stateOf(states) === "Idle")
        return idle && stateOf(idle)
      })
  ],
  showUnsubscribable: [
    { showUnsubscribable: true },
    [0, 1],
    (settings) =>
      inOffice(async (office) => {
        const mcp = { ...window, capabilities: { subscribe: false } }
        return (await (await computerWith(office, { settings }, { mcp })).desktop()).length
      })
  ],
  resolveDpe: [
    { resolveDpe: () => ({ uri: "https://example.org/1" }) as never },
    [4011, "resolved"],
    (settings) =>
      inOffice(async (office) => {
        const mcp = { resources: [resource("dpe://com.example/1")] }
        await computerWith(office, { settings }, { mcp })
        return codeOf((await office.agent()).getDpe("desk", "dpe://com.example/1"))
      })
  ],
  onProgress: [
    { onProgress: () => undefined },
    [[], [7]],
    (settings) =>
      inOffice(async (office) => {
        const steps: Array<number> = []
        const onProgress = ({ progress }: { readonly progress: number }) => void steps.push(progress)
        const desk = await computerWith(office, { settings: "onProgress" in settings ? { onProgress } : {} })
        await desk.callTool({ tool: "report" })
        return steps
      })
  ]
}

describe("runComputer", () => {
  testOptions(optionRows)
})
describe("inputs of runComputer", () => {
  testOptions(inputRows)
})
describe("settings of runComputer", () => {
  testOptions(settingRows)
})
