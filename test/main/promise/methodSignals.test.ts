import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type {
  Cancellable,
  Closeable,
  ConnectedAgent,
  RunningComputer,
  RunningServer,
  StartedTool
} from "../../../src/main/entrypoints/promise.ts"
import { textResult, tool } from "../../conformance/members.ts"
import { codeOf, inOffice, type PromiseOffice } from "./promiseOffice.ts"

/** A call of each method with its required arguments: a new method without a row is an error of the compiler. */
type Calls<Service> = {
  readonly [Method in Exclude<keyof Service, keyof Closeable | "offer" | "changed">]-?: Service[Method] extends (
    ...args: never
  ) => unknown
    ? (service: Service, options: Cancellable) => Promise<unknown> | AsyncIterable<unknown>
    : undefined
}

const answer = { action: "deny" } as const

const agentCalls: Calls<ConnectedAgent> = {
  members: (agent, options) => agent.members(options),
  callTool: (agent, options) => agent.callTool({ tool: "echo" }, options),
  startTool: (agent, options) => agent.startTool({ tool: "echo" }, options),
  startedTool: (agent, options) => agent.startedTool("desk", "t").status(options),
  getTools: (agent, options) => agent.getTools("desk", options),
  mcpServers: (agent, options) => agent.mcpServers("desk", options),
  mcpRequest: (agent, options) =>
    agent.mcpRequest("desk", { server: "alpha", method: "prompts/get", params: {} }, options),
  getConfig: (agent, options) => agent.getConfig("desk", options),
  getDesktop: (agent, options) => agent.getDesktop("desk", options),
  getDpe: (agent, options) => agent.getDpe("desk", "dpe://com.example/one", options),
  fetchDocument: (agent, options) => agent.fetchDocument("desk", "dpe://com.example/one", options),
  getResources: (agent, options) => agent.getResources("desk", "alpha", options),
  allResources: (agent, options) => agent.allResources("desk", "alpha", options),
  findDocuments: (agent, options) => agent.findDocuments("desk", options),
  approvals: (agent, options) => agent.approvals(options),
  getApprovals: (agent, options) => agent.getApprovals("desk", options),
  decideApproval: (agent, options) => agent.decideApproval("desk", "a", answer, options),
  blob: (agent, options) => agent.blob("desk", "h", options),
  putBlob: (agent, options) => agent.putBlob("desk", new Uint8Array([1]), options),
  skills: (agent, options) => agent.skills("desk", options),
  readSkill: (agent, options) => agent.readSkill("desk", "greet", options),
  settled: (agent, options) => agent.settled(options),
  view: (agent, options) => agent.view(options),
  changes: (agent, options) => agent.changes(options),
  changesOf: (agent, options) => agent.changesOf("desk", options),
  events: (agent, options) => agent.events(options),
  status: (agent, options) => agent.status(options),
  mcpClient: (agent, options) => agent.mcpClient(options)
}

const taskCalls = {
  status: (task: StartedTool, options: Cancellable) => task.status(options),
  result: (task: StartedTool, options: Cancellable) => task.result(options),
  cancel: (task: StartedTool, options: Cancellable) => task.cancel(options)
}

const computerCalls: Calls<RunningComputer> = {
  servers: (desk, options) => desk.servers(options),
  changes: (desk, options) => desk.changes(options),
  catalogue: (desk, options) => desk.catalogue(options),
  history: (desk, options) => desk.history(options),
  setup: (desk, options) => desk.setup(options),
  reconfigure: (desk, options) => desk.reconfigure({ config: { servers: {} } }, options),
  start: (desk, options) => desk.start("alpha", options),
  stop: (desk, options) => desk.stop("alpha", options),
  restart: (desk, options) => desk.restart("alpha", options),
  callTool: (desk, options) => desk.callTool({ tool: "echo" }, options),
  approvals: (desk, options) => desk.approvals(options),
  decideApproval: (desk, options) => desk.decideApproval("a", answer, options),
  grants: (desk, options) => desk.grants(options),
  revokeGrant: (desk, options) => desk.revokeGrant("g", options),
  explain: (desk, options) => desk.explain({ tool: "echo", subject: "me" }, options),
  desktop: (desk, options) => desk.desktop(options),
  status: (desk, options) => desk.status(options),
  office: (desk, options) => desk.office(options),
  join: (desk, options) => desk.join({ office: "team" }, options),
  leave: (desk, options) => desk.leave(options)
}

const serverCalls: Calls<RunningServer> = { url: undefined, load: (server, options) => server.load(options) }

const runOnce = async (called: Promise<unknown> | AsyncIterable<unknown>): Promise<unknown> => {
  if (!(Symbol.asyncIterator in called)) return called
  for await (const value of called) return value
  return undefined
}

type Call<Service> = (service: Service, options: Cancellable) => Promise<unknown> | AsyncIterable<unknown>

/** The code of the rejection of each method. */
const codesOf = async <Service>(calls: object, service: Service, options: Cancellable) => {
  const codes: Array<readonly [string, unknown]> = []
  for (const [name, call] of Object.entries(calls) as ReadonlyArray<readonly [string, Call<Service> | undefined]>)
    if (call !== undefined) codes.push([name, await codeOf(runOnce(call(service, options)))])
  return codes
}

const echo = tool("echo", () => Effect.succeed(textResult("echoed")))

const withDesk = async (office: PromiseOffice) => {
  const alpha = { ...(await office.mcpServer({ tools: [echo] })), default_tool_meta: { auto_apply: true } }
  const desk = await office.computer({ config: { servers: { alpha } } })
  return { desk, agent: await office.agent() }
}

const otherThan = (codes: ReadonlyArray<readonly [string, unknown]>, code: string) =>
  codes.filter(([, seen]) => seen !== code)

describe("a signal that has aborted", () => {
  const signal = AbortSignal.abort()
  const check = async (calls: object, service: unknown) =>
    assert.deepStrictEqual(otherThan(await codesOf(calls, service, { signal }), "aborted"), [])

  it("rejects every method of an Agent", () =>
    inOffice(async (office) => check(agentCalls, (await withDesk(office)).agent)))
  it("rejects every method of a Computer", () =>
    inOffice(async (office) => check(computerCalls, (await withDesk(office)).desk)))
  it("rejects every method of a Server", () => inOffice((office) => check(serverCalls, office.server)))
  it("rejects every method of a started call", () =>
    inOffice(async (office) => check(taskCalls, await (await withDesk(office)).agent.startTool({ tool: "echo" }))))
  it("rejects every method of a call that is found again", () =>
    inOffice(async (office) => {
      const { agent } = await withDesk(office)
      const { computer, id } = await agent.startTool({ tool: "echo" })
      await check(taskCalls, agent.startedTool(computer, id))
    }))
})

describe("a closed service", () => {
  const check = async (calls: object, service: Closeable) => {
    await service.close()
    assert.deepStrictEqual(otherThan(await codesOf(calls, service, {}), "closed"), [])
  }

  it("rejects every method of an Agent", () =>
    inOffice(async (office) => check(agentCalls, (await withDesk(office)).agent)))
  it("rejects every method of a Computer", () =>
    inOffice(async (office) => check(computerCalls, (await withDesk(office)).desk)))
  it("rejects every method of a Server", () => inOffice((office) => check(serverCalls, office.server)))
  it("rejects every method of a call that it started", () =>
    inOffice(async (office) => {
      const { agent } = await withDesk(office)
      const task = await agent.startTool({ tool: "echo" })
      await check(taskCalls, { ...agent, ...task })
    }))
})
