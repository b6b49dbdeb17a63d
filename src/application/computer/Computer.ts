import { Context, Effect, Layer, type Scope, type Stream } from "effect"
import type { Setup, SetupDifference, Variables } from "../../domain/config/setup.ts"
import type { Part } from "../../domain/office/notice.ts"
import type { ComputerConfig } from "../../domain/protocol/v0_2/config.ts"
import type { ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import type { JoinFailed, OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { McpConnector } from "../ports/McpSession.ts"
import type { TransportClient } from "../ports/Transport.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import { type DesktopRequest, makeDesktop } from "./Desktop.ts"
import { makeDocuments } from "./Documents.ts"
import type { Inputs } from "./Inputs.ts"
import type { ServerStates } from "./Offer.ts"
import { receiverFor } from "./Receiver.ts"
import { type AlreadySeated, makeSeat, type SeatRequest, type SeatStatus } from "./Seat.ts"
import { concealLogs, makeSecrets } from "./Secrets.ts"
import { makeSessionPool, type UnknownServer } from "./SessionPool.ts"
import { type LocalCall, makeToolCalls, type ToolCallRecord } from "./ToolCalls.ts"

/** Who the Computer is, where, and what it drives. */
export interface ComputerOptions {
  /** The office to join at once; without it the Computer stays away until it is told to join. */
  readonly office?: string
  readonly name: string
  readonly config: ComputerConfig
  /** What stands for `${name}` in the parameters of the servers. */
  readonly variables?: Variables
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly patient?: boolean
}

interface ComputerShape {
  /** Every configured MCP server and where it stands. */
  readonly servers: Effect.Effect<ServerStates>
  /** The same now, and after every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** What the office can call, and what is hidden and why. */
  readonly catalogue: Effect.Effect<Catalogue>
  /** The last calls that reached a server, oldest first. */
  readonly history: Effect.Effect<ReadonlyArray<ToolCallRecord>>
  /** What is configured now, with its placeholders unfilled. */
  readonly setup: Effect.Effect<Setup>
  /** Makes the servers those of another setup. Whoever did not change keeps its session. */
  readonly reconfigure: (setup: Setup) => Effect.Effect<SetupDifference>
  /** Starts a server that does not run, even a disabled one, and waits until it runs or cannot. */
  readonly start: (server: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server until it is started again. Its running calls end with an error. */
  readonly stop: (server: string) => Effect.Effect<void, UnknownServer>
  /** Stops a server and starts it again. */
  readonly restart: (server: string) => Effect.Effect<void, UnknownServer>
  /** Calls a tool as the Computer's own people may, without consent, unless the call says who else asks. */
  readonly callTool: (call: LocalCall) => Effect.Effect<ToolResult>
  /** The desktop as the office would see it. */
  readonly desktop: (request: DesktopRequest) => Effect.Effect<ReadonlyArray<string>>
  /** Where the Computer stands with the Server, now and after every change. */
  readonly status: Stream.Stream<SeatStatus>
  /** The office the Computer is in or comes back to. */
  readonly office: Effect.Effect<string | undefined>
  readonly join: (request: SeatRequest) => Effect.Effect<void, JoinFailed | AlreadySeated>
  /** Leaves the office; the servers run on. Calls for its Agent end. */
  readonly leave: Effect.Effect<void>
  /** The seat itself, for events that this version does not know. */
  readonly member: Effect.Effect<OfficeMember | undefined>
}

const make = Effect.fnUntraced(function* ({
  config,
  name,
  office,
  patient,
  variables = {}
}: ComputerOptions): Effect.fn.Return<
  ComputerShape,
  JoinFailed,
  Scope.Scope | TransportClient | McpConnector | Inputs
> {
  const { startupPatience } = yield* ComputerSettings
  const secrets = makeSecrets()
  const guarded = concealLogs(secrets)
  const seat = yield* makeSeat(name)

  /** What has changed while the office was being joined: it may have looked before, and cannot have heard. */
  const untold = new Set<Part>()

  /** Tells the office that a part has changed; nobody is told while there is no office. */
  const announce = (part: Part) =>
    Effect.suspend(() => {
      const member = seat.member()
      const unheard = Effect.sync(() => void untold.add(part))
      if (member === undefined) return unheard
      const { event, request } = member.line.reports[part]
      return Effect.catch(member.tell(event, jsonBody(request.encode({ computer: name }))), () => unheard)
    })
  const catchUp = Effect.suspend(() => {
    const parts = [...untold]
    untold.clear()
    return Effect.forEach(parts, announce, { discard: true })
  })

  const pool = yield* guarded(makeSessionPool({ config, variables }, secrets, announce))
  const calls = yield* guarded(makeToolCalls(pool))
  const used = () => calls.history().map(({ server }) => server)
  const desktop = yield* makeDesktop(pool, used)
  const documents = yield* makeDocuments(pool, used)

  const join = (request: SeatRequest) =>
    seat.join(request, (member) => {
      untold.clear()
      const receive = receiverFor({ name, pool, calls, desktop, documents }, member)
      return {
        receive: (event, body) => guarded(receive(event, body)),
        onJoined: catchUp,
        onLost: () => calls.reset
      }
    })
  // Once more afterwards: a call may have come while others were ending.
  // The office hears that the Computer leaves before its servers end.
  yield* Effect.addFinalizer(() => seat.leave)
  const leave = calls.reset.pipe(Effect.andThen(seat.leave), Effect.andThen(calls.reset))

  if (office !== undefined) {
    yield* Effect.timeoutOption(pool.started, startupPatience)
    yield* Effect.catchTag(
      join({ office, ...(patient !== undefined && { patient }) }),
      "AlreadySeated",
      Effect.die
    )
  }

  return {
    servers: Effect.sync(pool.states),
    changes: pool.changes,
    catalogue: Effect.sync(pool.catalogue),
    history: Effect.sync(calls.history),
    setup: Effect.sync(pool.setup),
    reconfigure: (setup) => guarded(pool.apply(setup)),
    start: (server) => guarded(pool.start(server)),
    stop: (server) => guarded(pool.stop(server)),
    restart: (server) => guarded(pool.restart(server)),
    callTool: (call) => guarded(calls.callHere(call)),
    desktop: (request) => guarded(desktop.show(request)),
    status: seat.status,
    office: Effect.sync(seat.office),
    join,
    leave,
    member: Effect.sync(seat.member)
  }
})

/** The acting side of an office: drives MCP servers and offers their tools, windows and documents. */
export class Computer extends Context.Service<Computer, ComputerShape>()(
  "a2c-smcp/application/computer/Computer"
) {
  /** Starts the servers, joins the office if one is given, and stays for as long as the layer lives. */
  static readonly layer = (
    options: ComputerOptions
  ): Layer.Layer<Computer, JoinFailed, TransportClient | McpConnector | Inputs> =>
    Layer.effect(Computer, make(options))
}
