import { Clock, Context, Duration, Effect, Exit, Fiber, HashMap, Layer, Option, Result, Scope, Stream } from "effect"
import * as JsonSchemaValidator from "../../src/adapters/jsonSchema/JsonSchemaValidator.ts"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import * as Memory from "../../src/adapters/memory/MemoryTransport.ts"
import * as VerelEngine from "../../src/adapters/vrl/VerelEngine.ts"
import { Agent } from "../../src/application/agent/Agent.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import type { RemoteApprover } from "../../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { OfficeRegistry } from "../../src/application/ports/OfficeRegistry.ts"
import { TransportClient, TransportServer } from "../../src/application/ports/Transport.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { membersOf } from "../../src/domain/office/decideMembership.ts"
import type { InputAnswer, InputRequest } from "../../src/domain/model/InputRequest.ts"
import { type Member } from "../../src/domain/model/Membership.ts"
import { allGrants } from "../../src/domain/model/Identity.ts"
import { officeIdOf } from "../../src/domain/model/ids.ts"
import { defaultLineName, type LineName, lineNamed, lineNames } from "../../src/domain/wire/lines.ts"
import { formatVersion } from "../../src/domain/wire/version.ts"
import type { ComputerConfig } from "../../src/domain/config/computerConfig.ts"
import type { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import type { ApprovalStore } from "../../src/application/ports/approvals/ApprovalStore.ts"
import { type Approvers, makeApprovers } from "./Approvers.ts"
import { type CallerProcess, type History, makeHistory, type Revisions } from "./History.ts"
import { makeNet, type Net } from "./Net.ts"
import { type Members, initialApprovers, type MemberRef, type ToolKind, toolKinds } from "./plan.ts"
import { allowAll, Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { OfficeWatch } from "../../src/application/server/watch/OfficeWatch.ts"
import { asObject, isJsonObject } from "../../src/domain/json.ts"
import { AuditLog } from "../../src/application/ports/AuditLog.ts"
import { Policy } from "../../src/application/ports/approvals/Policy.ts"

/** Injects faults into the code under test, to verify that the rules detect them. */
export interface Sabotage {
  readonly transport?: (transport: TransportServer["Service"]) => TransportServer["Service"]
  readonly registry?: (
    registry: OfficeRegistry["Service"],
    cluster: MemoryCluster.MemoryCluster
  ) => OfficeRegistry["Service"]
  readonly client?: (transport: TransportClient["Service"]) => TransportClient["Service"]
  /** Replaces the run of a tool. */
  readonly tool?: (work: Effect.Effect<void>) => Effect.Effect<void>
  /** Changes the settings of Computers, and their hook `confirm`. */
  readonly settings?: (settings: ComputerSettings) => ComputerSettings
  readonly store?: (store: ApprovalStore["Service"]) => ApprovalStore["Service"]
  readonly computer?: (computer: Computer["Service"]) => Computer["Service"]
  readonly agent?: (agent: Agent["Service"]) => Agent["Service"]
}

/** A running Server of the cluster. */
interface Node {
  readonly scope: Scope.Closeable
  readonly server: Server["Service"]
  /** What operators use. */
  readonly watch: OfficeWatch["Service"]
  /** The value of a gauge of the Server. */
  readonly gauge: (name: string) => number
  readonly registry: OfficeRegistry["Service"]
  readonly transport: TransportClient["Service"]
}

/** The process of an Agent or a Computer. */
interface Process<Service> extends CallerProcess {
  readonly scope: Scope.Closeable
  readonly service: Service
}

/** The state of an Agent or a Computer and its intended office. */
export interface Party<Service> {
  readonly name: string
  /** Its subject at the Servers. Two programs of Agents share a name. */
  readonly program: string
  readonly who: MemberRef
  /** Distinguishes the connections of successive processes: a silently killed process leaves connections open. */
  incarnation: number
  /** Increases when a Computer enters or leaves an office, and with each process of an Agent. */
  visits: number
  office: string | undefined
  process: Process<Service> | undefined
  /** The latest operation; the next one interrupts it. */
  doing: Fiber.Fiber<void> | undefined
}

/** The MCP servers of a Computer, which outlive its process as separate programs do. */
interface Machine {
  readonly main: MemoryMcp.MemoryMcpServer
  readonly extra: MemoryMcp.MemoryMcpServer
  tools: number
  windows: number
  /** When the definition of the tool that needs consent changed. */
  readonly redefinedAt: Array<number>
  hasExtra: boolean
  /** Who else may decide at the next process of its Computer, and at the running one. */
  approvers: ReadonlyArray<RemoteApprover>
  currentApprovers: ReadonlyArray<RemoteApprover>
}

/** All components of a run. */
export interface World {
  readonly members: Members
  readonly history: History
  readonly net: Net
  readonly cluster: MemoryCluster.MemoryCluster
  readonly agents: ReadonlyArray<Party<Agent["Service"]>>
  readonly computers: ReadonlyArray<Party<Computer["Service"]>>
  readonly machines: ReadonlyArray<Machine>
  readonly approvers: Approvers
  readonly offices: ReadonlyArray<string>
  readonly nodes: Map<number, Node>
  /** Errors that the code under test logged. */
  readonly errors: ReadonlyArray<string>
  readonly note: (line: string) => void
  /** True when no recent network fault affects this program: its requests must succeed. */
  readonly isFair: (program: string) => boolean
  /** Marks a member as affected by a fault for some milliseconds. */
  readonly markUnfair: (program: string, millis: number) => void
  readonly now: () => number
  /** Interrupts the previous operation of a party and starts another. */
  readonly begin: (party: Party<unknown>, what: Effect.Effect<void>) => Effect.Effect<void>
  readonly startNode: (index: number) => Effect.Effect<void>
  readonly stopNode: (index: number) => Effect.Effect<void>
  readonly enter: (
    who: MemberRef,
    office: string,
    options: { readonly takeOver?: boolean; readonly wait?: Duration.Duration }
  ) => Effect.Effect<void>
  readonly leave: (who: MemberRef) => Effect.Effect<void>
  readonly kill: (who: MemberRef, silently: boolean) => Effect.Effect<void>
  readonly configOf: (computer: number) => ComputerConfig
  readonly toolsOf: (computer: number) => ReadonlyArray<MemoryMcp.MemoryTool>
  readonly windowsOf: (computer: number) => ReadonlyArray<MemoryMcp.MemoryResource>
  /** The members of an office according to the Servers, without the witness. */
  readonly membersIn: (office: string) => ReadonlyArray<Member>
  /** Stops all members, then the witnesses. */
  readonly shut: Effect.Effect<void>
}

/** The violations of a rule; empty when it holds. */
export type Findings = ReadonlyArray<string>

/** The key of an office: each id is in use on every protocol line. */
export const officeName = (index: number): string => {
  const line = lineNames[index % lineNames.length] ?? defaultLineName
  return lineNamed(line).officeKey(`office-${Math.floor(index / lineNames.length)}`)
}

/** The protocol line of an office. */
export const officeLine = (office: string): LineName =>
  lineNames.find((name) => lineNamed(name).officeKey(officeIdOf(office)) === office) ?? defaultLineName

/** The callable name of a tool in an office. */
export const toolNameIn = (office: string, tool: string, server = "main"): string =>
  lineNamed(officeLine(office)).naming.toolName({ name: server, bundleId: server }, tool)

const officeLabel = (office: string): string => `${officeLine(office)}/${officeIdOf(office)}`
const witnessOf = (office: string): string => `witness ${officeLabel(office)}`
export const nameOf = ({ index, kind }: MemberRef): string => `${kind}-${index}`
/** The name of one process's connections in the network. */
export const lineOf = ({ incarnation, program }: Pick<Party<unknown>, "incarnation" | "program">): string =>
  `${program}#${incarnation}`

/** Admits every subject, which the members of the simulation state in their handshake. */
const authenticator: Authenticator["Service"] = {
  ...allowAll,
  requiresCredentials: true,
  authenticate: ({ auth }) =>
    Effect.succeed({ subject: String(asObject(auth)["subject"]), grants: allGrants, expiresAt: undefined })
}

/** How long after a change a Computer may know the previous tools, in milliseconds. */
export const listTime = 150

export const windowText = (computer: number, generation: number): string => `window-${computer}-${generation}`

/** An Agent; two programs share a name, unless their number is odd. */
const agentPartyOf = (index: number, { agents }: Members): Party<Agent["Service"]> => {
  const names = Math.ceil(agents / 2)
  const name = nameOf({ kind: "agent", index: index % names })
  return partyOf("agent", index, name, `${name}${index < names ? "a" : "b"}`)
}

const partyOf = <Service>(
  kind: MemberRef["kind"],
  index: number,
  name = nameOf({ kind, index }),
  program = name
): Party<Service> => ({
  name,
  program,
  who: { kind, index },
  incarnation: 0,
  visits: 0,
  office: undefined,
  process: undefined,
  doing: undefined
})

/** Builds the world of a run in the scope; {@link World.shut} stops it earlier. */
export const makeWorld = Effect.fnUntraced(function* (
  seed: number,
  members: Members,
  sabotage: Sabotage,
  trace: (line: string) => void,
  errors: ReadonlyArray<string>
): Effect.fn.Return<World, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const note = (line: string) => trace(`${String(Math.floor(now())).padStart(7)} ${line}`)
  const history = makeHistory()
  const unfairUntil = new Map<string, number>()
  const net = yield* makeNet(seed)
  const cluster = MemoryCluster.makeCluster()
  const nodes = new Map<number, Node>()
  const starts = new Map<number, number>()
  const offices = Array.from({ length: members.offices }, (_, index) => officeName(index))
  const agents = Array.from({ length: members.agents }, (_, index) => agentPartyOf(index, members))
  const computers = Array.from({ length: members.computers }, (_, index) =>
    partyOf<Computer["Service"]>("computer", index)
  )

  const isFair = (program: string) => (unfairUntil.get(program) ?? 0) <= now()

  const membersIn = (office: string) =>
    membersOf(cluster.offices.state, office).filter(({ membership }) => membership.name !== witnessOf(office))

  // Servers

  const startNode = Effect.fnUntraced(function* (index: number) {
    if (nodes.has(index)) return
    const start = (starts.get(index) ?? 0) + 1
    starts.set(index, start)
    const idPrefix = `n${index}.${start}`
    const own = yield* Scope.fork(scope)
    const transports = Memory.layer({ idPrefix, delay: net.travel })
    const sabotaged = Layer.effectContext(
      Effect.gen(function* () {
        const context = yield* Effect.context<TransportServer | OfficeRegistry>()
        const { registry = (original) => original, transport = (original) => original } = sabotage
        return Context.make(OfficeRegistry, registry(Context.get(context, OfficeRegistry), cluster)).pipe(
          Context.add(TransportServer, transport(Context.get(context, TransportServer)))
        )
      })
    )
    const context = yield* Server.layer.pipe(
      Layer.provideMerge(sabotaged),
      Layer.provideMerge(Layer.merge(transports, MemoryCluster.layerNode(cluster, idPrefix))),
      Layer.provideMerge(OfficeWatch.layer()),
      Layer.provideMerge(Observability.layer),
      Layer.provide(AuditLog.layerNone),
      Layer.provide(Layer.succeed(Authenticator, authenticator)),
      Layer.fresh,
      Layer.build,
      Scope.provide(own),
      Effect.orDie
    )
    const transport = Context.get(context, TransportClient)
    const observability = Context.get(context, Observability)
    nodes.set(index, {
      scope: own,
      server: Context.get(context, Server),
      watch: Context.get(context, OfficeWatch),
      gauge: (name) => observability.report().gauges[name] ?? Number.NaN,
      registry: Context.get(context, OfficeRegistry),
      transport
    })
    net.setNode(index, transport)
    note(`${idPrefix} is up`)
  })

  const stopNode = Effect.fnUntraced(function* (index: number) {
    const node = nodes.get(index)
    if (node === undefined) return
    nodes.delete(index)
    net.setNode(index, undefined)
    note(`n${index}.${starts.get(index)} is gone`)
    yield* net.dropNode(index)
    yield* Effect.forkIn(Scope.close(node.scope, Exit.void), scope)
  })

  // Tools and windows of the Computers

  /** The definitions of the tool that needs consent. */
  const revisionsOf = (computer: number): Revisions => {
    const changes = machines[computer]?.redefinedAt ?? []
    return [changes.filter((at) => at < now() - listTime).length, changes.length]
  }

  const form = { type: "object", properties: { by: { type: "string" } }, required: ["by"] }

  /** Asks a question about a call, whose answer is recorded. */
  const requestAbout =
    (call: string, computer: string) =>
    (request: (request: InputRequest) => Effect.Effect<InputAnswer>): Effect.Effect<void> =>
      Effect.map(request({ mode: "form", message: call, schema: form }), (answer) => {
        history.received.push({ call, computer, answer })
        note(`${call} receives the answer ${answer.action}`)
      })

  const toolOf = (computer: number, kind: ToolKind): MemoryMcp.MemoryTool => ({
    definition: {
      name: kind,
      description: kind === "guarded" ? `revision ${revisionsOf(computer)[1]}` : "",
      inputSchema: {
        type: "object",
        properties: { id: { type: "string" }, from: { type: "string" }, takes: { type: "number" } }
      }
    },
    run: (args, { ask: request, progress }) =>
      Effect.suspend(() => {
        const { from, id, takes } = args as { id: string; from: string; takes: number }
        const own = computers[computer]
        const run = {
          id,
          computer: nameOf({ kind: "computer", index: computer }),
          from,
          at: own?.office,
          beganAt: now(),
          endedAt: undefined as number | undefined,
          revisions: kind === "guarded" ? revisionsOf(computer) : undefined,
          approvers: machines[computer]?.currentApprovers ?? []
        }
        history.runs.push(run)
        const half = Effect.sleep(takes / 2)
        const steps =
          kind === "asking"
            ? Effect.all(
                [
                  progress({ progress: 1 }),
                  requestAbout(id, run.computer)(request),
                  half,
                  progress({ progress: 2 }),
                  half
                ],
                { discard: true }
              )
            : Effect.sleep(takes)
        const working = Effect.ensuring(
          steps,
          Effect.sync(() => {
            run.endedAt = now()
          })
        )
        return Effect.as(sabotage.tool?.(working) ?? working, {
          content: [{ type: "text", text: `${id} by ${run.computer}` }]
        })
      })
  })
  const named = (name: string): MemoryMcp.MemoryTool => ({
    definition: { name, inputSchema: { type: "object" } },
    run: () => Effect.succeed({ content: [{ type: "text", text: name }] })
  })

  const machines: Array<Machine> = []
  const toolsOf = (computer: number) => [
    ...toolKinds.map((kind) => toolOf(computer, kind)),
    named(`tool-${machines[computer]?.tools ?? 0}`)
  ]
  const windowsOf = (computer: number): ReadonlyArray<MemoryMcp.MemoryResource> => {
    const generation = machines[computer]?.windows ?? 0
    const uri = `window://computer-${computer}/main`
    return [
      {
        definition: { uri, name: "main" },
        read: Effect.succeed([{ uri, text: windowText(computer, generation) }])
      }
    ]
  }
  for (let index = 0; index < members.computers; index++) {
    machines.push({
      main: yield* MemoryMcp.makeMemoryMcpServer({ tools: toolsOf(index), resources: windowsOf(index) }),
      extra: yield* MemoryMcp.makeMemoryMcpServer({ tools: [named("extra")] }),
      tools: 0,
      windows: 0,
      redefinedAt: [],
      hasExtra: false,
      approvers: initialApprovers(index),
      currentApprovers: initialApprovers(index)
    })
  }
  const configOf = (computer: number): ComputerConfig => {
    const server = {
      type: "stdio",
      server_parameters: { command: "memory" },
      default_tool_meta: { auto_apply: true },
      tool_meta: { guarded: { auto_apply: false } }
    }
    const extra = machines[computer]?.hasExtra === true ? { extra: server } : {}
    return Result.getOrThrow(parseComputerConfig({ servers: { main: server, ...extra } }))
  }

  // Agents and Computers

  const approvers = yield* makeApprovers(members.computers, sabotage, history, note, now)

  // Shared: both are stateless, and building them costs more than the rest of a Computer.
  const engines = Layer.succeedContext(yield* Layer.build(Layer.merge(JsonSchemaValidator.layer, VerelEngine.layer())))

  const begin: World["begin"] = (party, what) =>
    Effect.gen(function* () {
      const before = party.doing
      const after = before === undefined ? what : Effect.andThen(Fiber.interrupt(before), what)
      party.doing = yield* Effect.forkIn(after, scope)
    })

  const clientOf = (party: Party<unknown>) => {
    const { connect } = net.clientOf(lineOf(party))
    const client = TransportClient.of({
      connect: (options) => connect({ ...options, auth: { ...asObject(options.auth), subject: party.program } })
    })
    return Layer.succeed(TransportClient, sabotage.client?.(client) ?? client)
  }

  /** Builds the service of a process in a new scope. */
  const spawn = <Service, I>(
    party: Party<Service>,
    tag: Context.Key<I, Service>,
    layer: Layer.Layer<I, { readonly message: string }>
  ) =>
    Effect.gen(function* () {
      const own = yield* Scope.fork(scope)
      const built = Layer.build(Layer.fresh(layer)).pipe(
        Scope.provide(own),
        Effect.onError(() => Scope.close(own, Exit.void))
      )
      const service = Context.get(yield* built, tag)
      const process = { scope: own, service, program: party.program, visit: party.visits }
      party.process = process
      return process
    })

  /** Stops the process of a party gracefully. */
  const quit = (party: Party<unknown>) =>
    Effect.suspend(() => {
      const { process } = party
      if (party.who.kind === "agent") party.visits += 1
      party.process = undefined
      party.office = undefined
      return process === undefined ? Effect.void : Scope.close(process.scope, Exit.void)
    })

  const recordMention = (office: string, name: string, event: string) => {
    history.mentions.push({ at: now(), office, name, event })
  }

  /** Records whether a join succeeded. */
  const recordJoin =
    (party: Party<unknown>, office: string) =>
    <R>(entering: Effect.Effect<void, { readonly message: string }, R>): Effect.Effect<void, never, R> =>
      Effect.matchEffect(entering, {
        onSuccess: () => Effect.sync(() => note(`${party.program} joined ${officeLabel(office)}`)),
        onFailure: ({ message }) =>
          Effect.sync(() => {
            party.office = undefined
            note(`${party.program} failed to join ${officeLabel(office)}: ${message}`)
          })
      })

  const startAgent = (party: Party<Agent["Service"]>, office: string, options: Parameters<World["enter"]>[2]) =>
    Effect.gen(function* () {
      party.office = office
      const place = { office: officeIdOf(office), protocol: officeLine(office) }
      const layer = Agent.layer({ name: party.name, ...place, retryInitialConnect: true, ...options }).pipe(
        Layer.provide(clientOf(party))
      )
      const process = yield* spawn(party, Agent, layer)
      party.process = { ...process, service: sabotage.agent?.(process.service) ?? process.service }
      yield* Effect.forkIn(
        Stream.runForEach(process.service.events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Entered" || event._tag === "Left")
              recordMention(office, event.membership.name, event._tag)
            if (event._tag === "Updated") recordMention(office, event.computer, event.part)
          })
        ),
        process.scope
      )
    }).pipe(recordJoin(party, office))

  const startComputer = (party: Party<Computer["Service"]>) =>
    Effect.gen(function* () {
      if (party.process !== undefined) return party.process
      const machine = machines[party.who.index]
      if (machine === undefined) return yield* Effect.die("no such machine")
      const { incarnation, name, who } = party
      const { approvers: current } = machine
      const owner = { computer: name, incarnation, approvers: current }
      machine.currentApprovers = current
      const options = { name, config: configOf(who.index), operators: { calls: true } }
      const layer = Computer.layer(options).pipe(
        Layer.provide(
          MemoryMcp.layer(
            new Map([
              ["main", machine.main],
              ["extra", machine.extra]
            ])
          )
        ),
        Layer.provide(Inputs.layer()),
        Layer.provide(engines),
        Layer.provide(approvers.layer(owner, who.index)),
        Layer.provide(Policy.layerNone),
        Layer.provide(clientOf(party))
      )
      const process = yield* Effect.orDie(spawn(party, Computer, layer))
      const { scope: own, service } = process
      party.process = { ...process, service: sabotage.computer?.(service) ?? service }
      yield* Effect.forkIn(
        Scope.provide(
          approvers.observe(owner, service, () => ({
            revisions: revisionsOf(who.index),
            undisturbed: isFair(name) && party.doing?.pollUnsafe() !== undefined
          })),
          own
        ),
        own
      )
      yield* Scope.addFinalizer(
        own,
        Effect.sync(() => approvers.close(owner))
      )
      return party.process
    })

  const enter: World["enter"] = (who, office, options) =>
    Effect.suspend(() => {
      history.counts.joins += 1
      if (who.kind === "agent") {
        const party = agents[who.index]
        if (party === undefined) return Effect.void
        depart(party)
        return begin(party, Effect.andThen(quit(party), startAgent(party, office, options)))
      }
      const party = computers[who.index]
      if (party === undefined) return Effect.void
      party.visits += 1
      const going = Effect.gen(function* () {
        const { service } = yield* startComputer(party)
        yield* service.leave
        party.office = office
        const place = { office: officeIdOf(office), protocol: officeLine(office) }
        yield* service.join({ ...place, retryInitialConnect: true })
      }).pipe(recordJoin(party, office))
      return begin(party, going)
    })

  /** Records the end of the process of an Agent, which its Server notices at once. */
  const depart = ({ name, process, program, who }: Party<unknown>) => {
    if (process === undefined || who.kind === "computer" || !isFair(program)) return
    history.departures.push({ program, visit: process.visit, at: now() })
    note(`${program} leaves as ${name}`)
  }

  const partyFor = ({ index, kind }: MemberRef): Party<unknown> | undefined =>
    kind === "agent" ? agents[index] : computers[index]

  const leave: World["leave"] = (who) =>
    Effect.suspend(() => {
      const computer = who.kind === "computer" ? computers[who.index] : undefined
      if (computer?.process !== undefined) {
        const { service } = computer.process
        computer.visits += 1
        return begin(
          computer,
          Effect.andThen(
            service.leave,
            Effect.sync(() => {
              computer.office = undefined
            })
          )
        )
      }
      const party = partyFor(who)
      if (party === undefined) return Effect.void
      depart(party)
      return begin(party, quit(party))
    })

  const kill: World["kill"] = (who, silently) =>
    Effect.gen(function* () {
      const party = partyFor(who)
      if (party === undefined) return
      if (!silently) depart(party)
      // The fault comes first: a killed process sends no more messages.
      yield* net.fault(lineOf(party), silently ? "sever" : "cut")
      party.incarnation += 1
      party.visits += 1
      yield* begin(party, quit(party))
    })

  // Witnesses

  const witness = Effect.fnUntraced(function* (office: string, transport: TransportClient["Service"]) {
    const line = lineNamed(officeLine(office))
    const link = yield* transport.connect({
      version: formatVersion(line.version),
      auth: { role: "computer", subject: "witness" },
      onMessage: (event, body) =>
        Effect.sync(() => {
          const message = Result.getOrElse(body.value(), () => undefined)
          if (!isJsonObject(message)) return []
          const name = String(message["agent"] ?? message["computer"])
          if (event === "notify:enter_office" || event === "notify:leave_office") {
            const what = event === "notify:enter_office" ? "entered" : "left"
            const role = message["agent"] === undefined ? "computer" : "agent"
            const of = line.officeKey(String(message["office_id"]))
            history.notified.push({ at: now(), witness: office, office: of, what, role, name })
            note(`${name} ${what} ${officeLabel(of)}, received by ${witnessOf(office)}`)
            return []
          }
          if (event.startsWith("notify:")) {
            recordMention(office, name, event)
            return []
          }
          return [jsonBody({ req_id: message["req_id"], tools: [], desktops: [] })]
        })
    })
    yield* link.request(
      "server:join_office",
      jsonBody({ role: "computer", name: witnessOf(office), office_id: officeIdOf(office) }),
      Duration.minutes(1)
    )
  })

  for (let index = 0; index < members.nodes; index++) yield* startNode(index)
  const first = nodes.get(0)
  const witnesses = yield* Scope.fork(scope)
  if (first !== undefined) {
    yield* first.registry
      .subscribe((change) => {
        if (change._tag !== "Entered" && change._tag !== "Left") return
        const { name, office } = change.membership
        if (change._tag === "Entered") history.stays.push({ office, name, from: now(), to: undefined })
        else {
          const stay = history.stays.findLast((one) => one.name === name && one.office === office)
          if (stay !== undefined) stay.to ??= now()
        }
      })
      .pipe(Scope.provide(witnesses))
    for (const office of offices) {
      yield* Effect.orDie(Scope.provide(witness(office, first.transport), witnesses))
    }
  }

  const shut = Effect.gen(function* () {
    for (const party of [...agents, ...computers]) yield* begin(party, quit(party))
    yield* Effect.forkIn(
      Effect.gen(function* () {
        for (const party of [...agents, ...computers]) if (party.doing !== undefined) yield* Fiber.await(party.doing)
        yield* Scope.close(witnesses, Exit.void)
      }),
      scope
    )
  })

  return {
    members,
    history,
    net,
    cluster,
    agents,
    computers,
    machines,
    approvers,
    offices,
    nodes,
    errors,
    note,
    isFair,
    markUnfair: (program, millis) =>
      void unfairUntil.set(program, Math.max(unfairUntil.get(program) ?? 0, now() + millis)),
    now,
    begin,
    startNode,
    stopNode,
    enter,
    leave,
    kill,
    configOf,
    toolsOf,
    windowsOf,
    membersIn,
    shut
  }
})

/** The offices with members. */
export const officesOf = ({ cluster }: World): ReadonlyArray<string> => [...HashMap.keys(cluster.offices.state.offices)]

/** True when a program is the Agent of its office according to the Servers. */
export const isAgentOf = ({ cluster }: World, program: string, office: string): boolean => {
  const { offices, sessions } = cluster.offices.state
  const agent = Option.flatMap(HashMap.get(offices, office), (found) => found.agent)
  return Option.exists(
    Option.flatMap(agent, ({ sid }) => HashMap.get(sessions, sid)),
    ({ subject }) => subject === program
  )
}
