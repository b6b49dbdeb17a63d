import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect } from "effect"
import type { MemoryMcpServerOptions } from "../../../src/adapters/memory/MemoryMcp.ts"
import type {
  ApprovalAnswer,
  CallStatus,
  ComputerJoinOptions,
  ComputerOptions,
  ComputerSetup,
  ConnectedAgent,
  RunningComputer,
  ToolCall,
  ToolResult
} from "../../../src/main/entrypoints/promise.ts"
import type { Cancellable } from "../../../src/main/promise/RunningService.ts"
import { hangingTool, resource, textResult, tool } from "../../conformance/members.ts"
import { firstText } from "../../firstText.ts"
import { codeOf, firstOf, inOffice, waitLimit, type PromiseOffice } from "./promiseOffice.ts"
import { type OptionRows, testOptions } from "./optionRows.ts"

/** The options of a method, beside the signal: its parameter of this number. */
type OptionsOf<Method extends (...args: never) => unknown, Index extends number> = Omit<
  NonNullable<Parameters<Method>[Index]>,
  keyof Cancellable
>

const schema = { type: "object", properties: { name: { type: "string" } } }
const data = "AAAA".repeat(100_000)
const tools = [
  tool("echo", (params) => Effect.succeed(textResult(JSON.stringify(params)))),
  tool("other"),
  tool("a_tool_with_a_long_name"),
  tool("long", () => Effect.succeed(textResult("word ".repeat(20_000)))),
  tool("ask", (_, { ask: request }) =>
    Effect.map(request({ mode: "form", message: "who?", schema }), ({ action }) => textResult(action))
  ),
  tool("draw", () => Effect.succeed({ content: [{ type: "image", mimeType: "image/png", data }] })),
  tool("report", (_, { progress }) => Effect.as(progress({ progress: 7 }), textResult("done"))),
  Effect.runSync(hangingTool("hang")).hanging
]
const resources = [
  resource("window://com.example.notes/main"),
  resource("window://com.example.notes/other"),
  resource("dpe://com.example/one", ["{}"], { _meta: { page_count: 1, file_type: "pdf", keywords: ["one"] } }),
  resource("dpe://com.example/two", ["{}"], { _meta: { page_count: 1, file_type: "markdown", keywords: ["two"] } })
]

/** A Computer with all tools and documents, which need no consent, and its Agent. */
const members = async (
  office: PromiseOffice,
  options: Partial<ComputerOptions> = {},
  { config = { default_tool_meta: { auto_apply: true } }, ...parts }: MemoryMcpServerOptions & { config?: object } = {}
) => {
  const alpha = { ...(await office.mcpServer({ tools, resources, ...parts })), ...config }
  const setup = { config: { servers: { alpha } } }
  const desk = await office.computer({ ...setup, ...options })
  const agent = await office.agent(options.protocol === undefined ? {} : { protocol: options.protocol })
  return { agent, desk, setup }
}

const withMembers = <A>(
  use: (parts: Awaited<ReturnType<typeof members>> & { readonly office: PromiseOffice }) => Promise<A>,
  ...options: Parameters<typeof members> extends readonly [unknown, ...infer Rest] ? Rest : never
) => inOffice(async (office) => use({ office, ...(await members(office, ...options)) }))

const consenting = { config: {} }

type Desktop = OptionsOf<ConnectedAgent["getDesktop"], 1>
const first = "window://com.example.notes/main"
const desktopRows = (kind: "agent" | "desk"): OptionRows<Desktop> => {
  const shown = (given: Desktop) =>
    withMembers(
      async ({ agent, desk }) =>
        (await (kind === "agent" ? agent.getDesktop("desk", given) : desk.desktop(given))).length
    )
  return { size: [{ size: 1 }, [2, 1], shown], window: [{ window: first }, [2, 1], shown] }
}

const hanging: Partial<ComputerOptions> = { settings: { resolveDpe: () => new Promise(() => undefined) } }
const documentAt = (uri: string): Partial<ComputerOptions> => ({
  settings: { resolveDpe: () => ({ uri }) as never }
})

const dpeRows: OptionRows<OptionsOf<ConnectedAgent["getDpe"], 2>> = {
  timeout: [
    { timeout: 1 },
    ["aborted", 4013],
    (given) =>
      withMembers(
        ({ agent }) =>
          codeOf(agent.getDpe("desk", "dpe://com.example/one", { ...given, ...waitLimit("timeout" in given) })),
        hanging
      )
  ]
}

const fetchRows: OptionRows<OptionsOf<ConnectedAgent["fetchDocument"], 2>> = {
  timeout: [
    { timeout: 1 },
    ["aborted", 4013],
    (given) =>
      withMembers(
        ({ agent }) =>
          codeOf(agent.fetchDocument("desk", "dpe://com.example/one", { ...given, ...waitLimit("timeout" in given) })),
        hanging
      )
  ],
  maxBytes: [
    { maxBytes: 1 },
    ["resolved", "document_unreadable"],
    (given) =>
      inOffice(async (office) => {
        const { agent } = await members(office, documentAt(`${office.server.url}/healthz`))
        return codeOf(agent.fetchDocument("desk", "dpe://com.example/one", given))
      })
  ]
}

const resourceRows: OptionRows<OptionsOf<ConnectedAgent["getResources"], 2>> = {
  cursor: [
    { cursor: "3" },
    [3, 1],
    (given) =>
      withMembers(
        async ({ agent }) => (await agent.getResources("desk", "alpha", given)).resources.length,
        {},
        { pageSize: 3 }
      )
  ]
}

const finderRows: OptionRows<OptionsOf<ConnectedAgent["findDocuments"], 1>> = (() => {
  const found = (given: OptionsOf<ConnectedAgent["findDocuments"], 1>) =>
    withMembers(async ({ agent }) => (await agent.findDocuments("desk", given)).documents.length)
  return {
    keywords: [{ keywords: ["one"] }, [2, 1], found],
    fileType: [{ fileType: "markdown" }, [2, 1], found],
    offset: [{ offset: 1 }, [2, 1], found],
    limit: [{ limit: 1 }, [2, 1], found]
  }
})()

/** Starts two calls that wait for an approval, and decides. */
const waitingCalls = async ({ agent }: { readonly agent: ConnectedAgent }, count: number) => {
  const calls = Array.from({ length: count }, () => agent.callTool({ tool: "echo" }))
  for (const call of calls) void call.catch(() => undefined)
  await firstOf(agent.approvals(), (all) => all.length === count)
  return { calls }
}

const approvalRows: OptionRows<OptionsOf<ConnectedAgent["getApprovals"], 1>> = {
  approvalId: [
    { approvalId: "" },
    [2, 1],
    (given) =>
      withMembers(
        async (parts) => {
          await waitingCalls(parts, 2)
          const [one] = await parts.agent.getApprovals("desk")
          const approvalId = one?.id ?? ""
          return (await parts.agent.getApprovals("desk", "approvalId" in given ? { approvalId } : {})).length
        },
        { approvers: ["agent"] },
        consenting
      )
  ]
}

type Allow = Extract<ApprovalAnswer, { readonly scope: "tool" }>
type Deny = Extract<ApprovalAnswer, { readonly action: "deny" }>
type Answer = Pick<Allow, "scope" | "until"> & Pick<Deny, "reason"> & { readonly by?: string }

/** Decides about a call, and gives what is known of it then. */
const decide = (who: "agent" | "desk", answer: ApprovalAnswer & { readonly by?: string }) =>
  withMembers(
    async (parts) => {
      const { calls } = await waitingCalls(parts, 1)
      const [one] = await parts.agent.getApprovals("desk")
      const id = one?.id ?? ""
      const decision = await (who === "agent"
        ? parts.agent.decideApproval("desk", id, answer)
        : parts.desk.decideApproval(id, answer))
      const [grant] = await parts.desk.grants()
      const [result] = await Promise.all(calls)
      const text = result === undefined ? "" : firstText(result)
      return { decision: JSON.parse(JSON.stringify(decision)) as { by?: string }, grant, text }
    },
    { approvers: ["agent"] },
    consenting
  )

const allowOnce = { action: "allow", scope: "once" } as const
const until = Date.UTC(2100, 0)
const answerRows = (who: "agent" | "desk"): OptionRows<Omit<Answer, "by">> => ({
  scope: [
    { scope: "tool" },
    [false, true],
    async ({ scope }) => {
      const answer = scope === undefined ? allowOnce : ({ action: "allow", scope } as const)
      return (await decide(who, answer)).grant !== undefined
    }
  ],
  until: [
    { until },
    [undefined, until],
    async (given) => {
      const { grant } = await decide(who, { action: "allow", scope: "tool", ...given })
      return grant?.until
    }
  ],
  reason: [
    { reason: "not today" },
    [false, true],
    async (given) => (await decide(who, { action: "deny", ...given })).text.includes("not today")
  ]
})
const byRows: OptionRows<Pick<Answer, "by">> = {
  by: [{ by: "ann" }, ["owner", "ann"], async (given) => (await decide("desk", { ...allowOnce, ...given })).decision.by]
}

const blobRows: OptionRows<OptionsOf<ConnectedAgent["blob"], 2>> = (() => {
  const read = (given: OptionsOf<ConnectedAgent["blob"], 2>) =>
    withMembers(
      async ({ agent }) => {
        const drawing = (await agent.getTools("desk")).find(({ name }) => name.endsWith("draw"))
        const { content } = await agent.callTool({ tool: drawing?.name ?? "", computer: "desk", blobs: "keep" })
        const handle = /"a2c_blob_handle":"([^"]+)"/.exec(JSON.stringify(content))?.[1] ?? ""
        return codeOf(agent.blob("desk", handle, given))
      },
      { protocol: "0.3" }
    )
  return {
    timeout: [{ timeout: 1e-9 }, ["resolved", "blob_unreadable"], read],
    maxBytes: [{ maxBytes: 1 }, ["resolved", "blob_unreadable"], read]
  }
})()

const putRows: OptionRows<OptionsOf<ConnectedAgent["putBlob"], 2>> = {
  nameHint: [
    { nameHint: "photo.png" },
    [false, true],
    (given) =>
      inOffice(async (office) => {
        await office.computer({ protocol: "0.4", uploads: { folder: await office.folder() } })
        const agent = await office.agent({ protocol: "0.4" })
        return (await agent.putBlob("desk", new Uint8Array([1]), given)).landingPath.endsWith("photo.png")
      })
  ]
}

const skillRows: OptionRows<OptionsOf<ConnectedAgent["readSkill"], 2>> = (() => {
  const read = (given: OptionsOf<ConnectedAgent["readSkill"], 2>, relPath: string) =>
    inOffice(async (office) => {
      const userFolder = await office.folder()
      const skill = join(userFolder, "greet")
      await mkdir(skill)
      await writeFile(join(skill, "SKILL.md"), "---\nname: greet\ndescription: Greets.\n---\nSay hello.\n")
      await writeFile(join(skill, "picture.bin"), new Uint8Array([0xff, 0xfe, 0, 1]))
      await office.computer({ skills: { userFolder } })
      const reading = (await office.agent()).readSkill("desk", "greet", { relPath, ...given })
      return reading.then((file) => file.relPath).catch(({ code }: { readonly code: unknown }) => code)
    })
  const readPicture = (given: OptionsOf<ConnectedAgent["readSkill"], 2>) => read(given, "picture.bin")
  return {
    relPath: [{ relPath: "picture.bin" }, ["SKILL.md", "picture.bin"], (given) => read(given, "SKILL.md")],
    timeout: [{ timeout: 1e-9 }, ["picture.bin", "blob_unreadable"], readPicture],
    maxBytes: [{ maxBytes: 1 }, ["picture.bin", "blob_unreadable"], readPicture]
  }
})()

type ClientOptions = OptionsOf<ConnectedAgent["mcpClient"], 0>
const clientRows: OptionRows<ClientOptions> = (() => {
  const listed = (given: ClientOptions, name: string) =>
    withMembers(async ({ agent }) => {
      await agent.settled()
      return (await (await agent.mcpClient(given)).allTools()).some((one) => one.name === name)
    })
  const called = (given: ClientOptions, name: string) =>
    withMembers(async ({ agent }) => {
      await agent.settled()
      const client = await agent.mcpClient(given)
      const calling = client.callTool({ name }, undefined, waitLimit("timeout" in given || name !== "desk__hang"))
      return calling.then((result) => JSON.stringify(result).length < 16_384).catch(() => "aborted")
    })
  return {
    maxToolNameLength: [
      { maxToolNameLength: 20 },
      [true, false],
      (given) => listed(given, "desk__a_tool_with_a_long_name")
    ],
    tools: [{ tools: "search" }, [false, true], (given) => listed(given, "tools_search")],
    pinned: [{ pinned: ["echo"] }, [false, true], (given) => listed({ tools: "search", ...given }, "desk__echo")],
    maxResult: [{ maxResult: 16_384 }, [false, true], (given) => called(given, "desk__long")],
    timeout: [{ timeout: 1 }, ["aborted", true], (given) => called(given, "desk__hang")]
  }
})()

type AgentCall = Omit<ToolCall, "tool">
type Run = (agent: ConnectedAgent, call: ToolCall, options?: Cancellable) => Promise<ToolResult>
const callAtOnce: Run = (agent, call, options) => agent.callTool(call, options)
/** Starts a call and waits for its result. */
const callAsTask: Run = async (agent, call, options) => (await agent.startTool(call, options)).result(options)

const rowsOf = (run: Run): OptionRows<Omit<AgentCall, "blobs">> => {
  const text = async (agent: ConnectedAgent, call: ToolCall) => firstText(await run(agent, call))
  return {
    computer: [
      { computer: "desk" },
      ["ambiguous_tool", "resolved"],
      (given) =>
        withMembers(async ({ agent, office }) => {
          await office.computer({ name: "lab", config: { servers: { alpha: await office.mcpServer({ tools }) } } })
          await firstOf(agent.changesOf("lab", waitLimit(true)), (view) => view?.tools !== undefined)
          return codeOf(run(agent, { tool: "echo", ...given }))
        })
    ],
    params: [
      { params: { a: 1 } },
      ["{}", '{"a":1}'],
      (given) => withMembers(({ agent }) => text(agent, { tool: "echo", ...given }))
    ],
    timeout: [
      { timeout: 1 },
      ["aborted", "resolved"],
      (given) =>
        withMembers(({ agent }) => codeOf(run(agent, { tool: "hang", ...given }, waitLimit("timeout" in given))))
    ],
    onStatus: [
      { onStatus: () => undefined },
      [[], ["Progressing"]],
      (given) =>
        withMembers(async ({ agent }) => {
          const seen: Array<string> = []
          const onStatus = ({ _tag }: CallStatus) => void seen.push(_tag)
          await run(agent, { tool: "report", ...("onStatus" in given && { onStatus }) })
          return seen
        })
    ],
    onInput: [
      { onInput: () => ({ action: "accept", content: { name: "Ada" } }) as const },
      ["decline", "accept"],
      (given) => withMembers(({ agent }) => text(agent, { tool: "ask", ...given }))
    ],
    inputModes: [
      { inputModes: ["url"] },
      ["accept", "decline"],
      (given) =>
        withMembers(({ agent }) => {
          const onInput = () => ({ action: "accept", content: { name: "Ada" } }) as const
          return text(agent, { tool: "ask", onInput, ...given })
        })
    ],
    onApproval: [
      { onApproval: () => allowOnce },
      ["aborted", "resolved"],
      (given) =>
        withMembers(
          async ({ agent }) => {
            const ending = new AbortController()
            const called = codeOf(run(agent, { tool: "echo", ...given }, ending))
            if (!("onApproval" in given)) {
              await firstOf(agent.approvals(), (all) => all.length === 1)
              ending.abort()
            }
            return called
          },
          { approvers: ["agent"] },
          consenting
        )
    ]
  }
}

const blobRow: Pick<OptionRows<AgentCall>, "blobs"> = {
  blobs: [
    { blobs: "keep" },
    [true, false],
    (given) =>
      withMembers(
        async ({ agent }) => {
          const drawing = (await agent.getTools("desk")).find(({ name }) => name.endsWith("draw"))
          const { content } = await agent.callTool({ tool: drawing?.name ?? "", computer: "desk", ...given })
          return content.some((block) => "data" in block && block["data"] === data)
        },
        { protocol: "0.3" }
      )
  ]
}
const callRows: OptionRows<AgentCall> = { ...rowsOf(callAtOnce), ...blobRow }

type LocalCall = Omit<OptionsOf<RunningComputer["callTool"], 0>, "tool">
const localCallRows: OptionRows<LocalCall> = {
  params: [
    { params: { a: 1 } },
    ["{}", '{"a":1}'],
    (given) => withMembers(async ({ desk }) => firstText(await desk.callTool({ tool: "echo", ...given })))
  ],
  timeout: [
    { timeout: 1 },
    ["aborted", "resolved"],
    (given) =>
      withMembers(({ desk }) => codeOf(desk.callTool({ tool: "hang", ...given }, waitLimit("timeout" in given))))
  ],
  requester: [
    { requester: "me" },
    [false, true],
    (given) =>
      withMembers(async ({ desk }) => (await desk.callTool({ tool: "echo", ...given })).isError, {}, consenting)
  ]
}

type Explain = OptionsOf<RunningComputer["explain"], 0>
const explained = (given: Partial<Explain>) =>
  withMembers(
    async (parts) => {
      const { calls } = await waitingCalls(parts, 1)
      const [one] = await parts.agent.getApprovals("desk")
      await parts.desk.decideApproval(one?.id ?? "", { action: "allow", scope: "tool" })
      await Promise.all(calls)
      return parts.desk.explain({ tool: "echo", subject: "thinker", ...given })
    },
    { approvers: ["agent"] },
    consenting
  )
const explainRows: OptionRows<Explain> = {
  tool: [{ tool: "other" }, ["echo", "other"], async (given) => (await explained(given))?.call.tool],
  params: [{ params: { a: 1 } }, [{}, { a: 1 }], async (given) => (await explained(given))?.call.params],
  subject: [{ subject: "bob" }, ["thinker", "bob"], async (given) => (await explained(given))?.call.subject],
  office: [{ office: "lab" }, ["allow", "ask"], async (given) => (await explained(given))?.decision.action],
  line: [
    { line: "0.4" },
    ["allow", "ask"],
    async (given) => (await explained({ office: "team", ...given }))?.decision.action
  ]
}

/** Joins a second time while another Computer has the name. */
const rejoined = (options: Partial<ComputerJoinOptions>) =>
  inOffice(async (office) => {
    const other = await office.computer()
    const waits: Array<unknown> = []
    const desk = await office.computer({
      office: "lab",
      log: ({ message }) => {
        if (!JSON.stringify(message).includes("waiting until the place is free")) return
        waits.push(message)
        void other.close()
      }
    })
    await desk.leave()
    return codeOf(desk.join({ office: "team", ...options }))
  })

const joinRows: OptionRows<Omit<ComputerJoinOptions, "protocol">> = {
  office: [
    { office: "lab" },
    ["team", "lab"],
    (given) =>
      inOffice(async (office) => {
        const desk = await office.computer()
        await desk.leave()
        await desk.join({ office: "team", ...given })
        return desk.office()
      })
  ],
  wait: [{ wait: 60_000 }, ["join_rejected", "resolved"], rejoined],
  takeOver: [{ takeOver: true }, ["join_rejected", "resolved"], rejoined],
  retryInitialConnect: [
    { retryInitialConnect: true },
    ["unreachable", "waits"],
    (given) =>
      inOffice(async (office) => {
        let retries: () => void = () => undefined
        const retrying = new Promise<string>((resolve) => (retries = () => resolve("waits")))
        const log = ({ message }: { readonly message: ReadonlyArray<unknown> }) => {
          if (JSON.stringify(message).includes("join failed, retrying")) retries()
        }
        const desk = await office.computer({ log })
        await desk.leave()
        await office.server.close()
        return Promise.race([retrying, codeOf(desk.join({ office: "team", ...given }))])
      })
  ]
}

const setupRows: OptionRows<ComputerSetup> = {
  config: [
    { config: { servers: {} } },
    [["alpha"], []],
    (given) =>
      withMembers(async ({ desk, setup }) => {
        await desk.reconfigure({ ...setup, ...given })
        return [...(await desk.servers()).keys()]
      })
  ],
  variables: [
    { variables: { alpha: { path: "mcp" } } },
    [{}, { alpha: { path: "mcp" } }],
    (given) =>
      withMembers(async ({ desk, setup }) => {
        await desk.reconfigure({ ...setup, ...given })
        return (await desk.setup()).variables
      })
  ]
}

describe.each([
  ["getDesktop of an Agent", desktopRows("agent")],
  ["getDpe", dpeRows],
  ["fetchDocument", fetchRows],
  ["getResources", resourceRows],
  ["findDocuments", finderRows],
  ["getApprovals", approvalRows],
  ["decideApproval of an Agent", answerRows("agent")],
  ["decideApproval of a Computer", { ...answerRows("desk"), ...byRows }],
  ["blob", blobRows],
  ["putBlob", putRows],
  ["readSkill", skillRows],
  ["mcpClient", clientRows],
  ["callTool of an Agent", callRows],
  ["startTool", rowsOf(callAsTask)],
  ["callTool of a Computer", localCallRows],
  ["desktop of a Computer", desktopRows("desk")],
  ["explain", explainRows],
  ["join", joinRows],
  ["reconfigure", setupRows]
] as const)("%s", (_, rows) => {
  testOptions(rows as Parameters<typeof testOptions>[0])
})
