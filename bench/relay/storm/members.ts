import { Context, Effect, Layer, Result, Scope, Stream } from "effect"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import * as SocketIoClient from "../../../src/adapters/socketio/client/SocketIoClient.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import type { OfficeStatus } from "../../../src/application/computer/office/OfficeConnection.ts"
import type { JoinFailed } from "../../../src/application/member/OfficeMember.ts"
import type { TransportClient } from "../../../src/application/ports/Transport.ts"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import type { Rejoins } from "./Rejoins.ts"
import { portDefaults } from "../../../test/portDefaults.ts"

/** An office with one Agent. */
export interface StormOffice {
  readonly id: string
  readonly agent: string
  readonly computers: ReadonlyArray<string>
}

/** Offices whose members have unique names. */
export const makeOffices = (offices: number, computers: number): ReadonlyArray<StormOffice> =>
  Array.from({ length: offices }, (_, office) => ({
    id: `office-${office}`,
    agent: `agent-${office}`,
    computers: Array.from({ length: computers }, (_computer, index) => `computer-${office}-${index}`)
  }))

export const namesOf = (offices: ReadonlyArray<StormOffice>): ReadonlyArray<string> =>
  offices.flatMap(({ agent, computers }) => [agent, ...computers])

/** Members that join at the same time at first. */
const atOnce = 50

/** Duration of a call at its Computer. */
const work = "20 millis"

export const stormTool = "work"

const server = "memory"
const config = Result.getOrThrow(
  parseComputerConfig({
    servers: {
      [server]: {
        type: "stdio",
        server_parameters: { command: server },
        default_tool_meta: { auto_apply: true }
      }
    }
  })
)

/** Counts the execution of a call at a Computer. */
type OnExecution = (id: string, computer: string) => void

/** A tool that returns the id of the call. */
const makeTool = (computer: string, onExecution: OnExecution): MemoryMcp.MemoryTool => ({
  definition: {
    name: stormTool,
    inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] }
  },
  run: ({ id }) =>
    Effect.suspend(() => {
      onExecution(String(id), computer)
      return Effect.delay(Effect.succeed({ content: [{ type: "text", text: String(id) }] }), work)
    })
})

const computerLayer = (name: string, office: string, mcpServer: MemoryMcp.MemoryMcpServer) =>
  Computer.layer({ name, office, config }).pipe(
    Layer.provide([MemoryMcp.layer(new Map([[server, mcpServer]])), Inputs.layer(), portDefaults])
  )

/** An Agent that has joined its office. */
export interface StormAgent extends StormOffice {
  readonly service: Agent["Service"]
}

/** Joins all members, and reports their status to `rejoins`. They leave at the same time when the scope closes. */
export const joinMembers = Effect.fnUntraced(function* (
  url: string,
  offices: ReadonlyArray<StormOffice>,
  rejoins: Rejoins,
  onExecution: OnExecution
) {
  const transport = yield* Layer.build(SocketIoClient.layer({ url }))
  const members = yield* Scope.fork(yield* Effect.scope, "parallel")

  const join = Effect.fnUntraced(function* <Service>(
    name: string,
    layer: Layer.Layer<Service, JoinFailed, TransportClient>
  ) {
    const scope = yield* Scope.fork(members)
    return yield* Layer.fresh(Layer.provide(layer, Layer.succeedContext(transport))).pipe(
      Layer.buildWithScope(scope),
      Effect.catch(({ message }) => Effect.die(new Error(`${name} did not join: ${message}`)))
    )
  })
  const watch = (name: string, status: Stream.Stream<OfficeStatus>) =>
    Effect.forkIn(
      Stream.runForEach(status, (now) => Effect.sync(() => rejoins.update(name, now))),
      members
    )

  const joinComputer = Effect.fnUntraced(function* (name: string, office: string) {
    const mcpServer = yield* MemoryMcp.makeMemoryMcpServer({ tools: [makeTool(name, onExecution)] })
    const context = yield* join(name, computerLayer(name, office, mcpServer))
    yield* watch(name, Context.get(context, Computer).status)
  })
  const joinAgent = Effect.fnUntraced(function* (office: StormOffice) {
    const { agent: name, id } = office
    const service = Context.get(yield* join(name, Agent.layer({ name, office: id })), Agent)
    yield* watch(name, service.status)
    return { ...office, service } satisfies StormAgent
  })

  const places = offices.flatMap(({ computers, id }) => computers.map((name) => ({ name, id })))
  yield* Effect.forEach(places, ({ id, name }) => joinComputer(name, id), { concurrency: atOnce, discard: true })
  return yield* Effect.forEach(offices, joinAgent, { concurrency: atOnce })
})
