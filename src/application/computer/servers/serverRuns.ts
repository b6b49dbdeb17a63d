import { Clock, Duration, Effect, FiberMap, Fiber, Option } from "effect"
import {
  fullReason,
  type McpServer,
  type McpServerCommand,
  type McpServerEvent,
  type McpServerWork
} from "../../../domain/mcpServers/McpServer.ts"
import { type McpServerCommands, transitionOf } from "../../../domain/mcpServers/reload.ts"
import type { Endpoints, McpConnector } from "../../ports/McpSession.ts"
import { openServer, type ServerRun, type ServerWorld } from "./openServer.ts"
import { type OfferedServer, stateNameOf, toServerState } from "./ServersSnapshot.ts"

type Event = McpServerEvent<OfferedServer>

/** Logs that a session ended or did not start, after which the server is in a state. */
const logEnd = (
  server: string,
  { _tag, at, failure }: Extract<Event, { readonly _tag: "Lost" | "StartFailed" }>,
  after: McpServer<OfferedServer>
): Effect.Effect<void> => {
  const reason = fullReason(failure)
  if (after._tag === "Failed") return Effect.logWarning("MCP server failed", { server, reason })
  const state = stateNameOf(toServerState(after))
  const retry = after._tag === "BackingOff" && { retryInSeconds: (after.retryAt - at) / 1000 }
  if (_tag === "Lost") return Effect.logWarning("MCP server exited", { server, state, reason, ...retry })
  const isFirst = after._tag === "BackingOff" ? after.attempt === 2 : after._tag === "Idle" && after.failures === 1
  const advice = isFirst && { see: "a2c computer check" }
  return Effect.logWarning("MCP server could not start", { server, state, reason, ...retry, ...advice })
}

/** Logs an event that changed a server. */
const logEvent = (server: string, event: Event, after: McpServer<OfferedServer>): Effect.Effect<void> => {
  if (event._tag === "Ready") {
    const { resources, tools } = event.offer
    return Effect.logInfo("MCP server ready", { server, tools: tools.length, resources: resources.length })
  }
  if (event._tag === "HealthChanged") {
    return event.reason === undefined
      ? Effect.logInfo("MCP server recovered", { server, source: event.source })
      : Effect.logWarning("MCP server degraded", { server, reason: event.reason })
  }
  if (event._tag === "IdleTimedOut") return Effect.logInfo("MCP server idle", { server })
  return event._tag === "Lost" || event._tag === "StartFailed" ? logEnd(server, event, after) : Effect.void
}

const work = Effect.fnUntraced(function* (serverRun: ServerRun, first: McpServerWork) {
  let next: McpServerWork | undefined = first
  while (next !== undefined) {
    if (next._tag === "Open") next = yield* openServer(serverRun)
    else {
      yield* Effect.sleep(Duration.millis(Math.max(0, next.at - (yield* Clock.currentTimeMillis))))
      next = yield* serverRun.send(() => ({ _tag: "RetryDue", run: serverRun.run }))
    }
  }
})

export type ServerRuns = Effect.Success<ReturnType<typeof makeServerRuns>>

/** Executes the commands of the lives of MCP servers, as long as the scope. Each server has one fiber at a time. */
export const makeServerRuns = Effect.fnUntraced(function* (world: ServerWorld) {
  const { store } = world
  const fibers = yield* FiberMap.make<string, void>()
  // Fibers of requests and commands start sessions that outlive them.
  const fork = yield* FiberMap.runtime(fibers)<McpConnector | Endpoints>()

  const perform = Effect.fnUntraced(function* (name: string, commands: ReadonlyArray<McpServerCommand>) {
    for (const command of commands) if (command._tag === "Close") yield* FiberMap.remove(fibers, name)
    return commands.find((command) => command._tag !== "Close")
  })

  /** Gives the work that follows. Half an event would leave a server without a fiber. */
  const dispatch = (name: string, decide: () => Event | undefined): Effect.Effect<McpServerWork | undefined> =>
    Effect.uninterruptible(
      store
        .update((servers) => {
          const event = decide()
          if (event === undefined) return [Effect.undefined, servers]
          const [commands, next] = transitionOf(servers, name, event)
          const after = next === servers ? undefined : next.get(name)
          const logging = after === undefined ? Effect.void : logEvent(name, event, after)
          return [Effect.andThen(logging, perform(name, commands)), next]
        })
        .pipe(Effect.flatten)
    )

  const makeRun = (name: string, run: number): ServerRun => {
    const server = () => store.servers().get(name)
    return {
      name,
      run,
      world,
      server,
      waitFor: (select) => store.waitFor((servers) => select(servers.get(name))),
      send: (decide) => dispatch(name, decide),
      launch: (work) => (server()?.run === run ? launch(name, work) : Effect.void)
    }
  }

  /** Begins work once the earlier work of the server has ended, which it interrupts. */
  const launch = (name: string, first: McpServerWork | undefined): Effect.Effect<void> =>
    Effect.sync(() => {
      const server = store.servers().get(name)
      if (server === undefined || first === undefined) return
      const previous = Option.getOrUndefined(FiberMap.getUnsafe(fibers, name))
      const closed = previous === undefined ? Effect.void : Effect.uninterruptible(Fiber.await(previous))
      fork(name, Effect.andThen(closed, work(makeRun(name, server.run), first)))
    })

  return {
    /** Changes the state of a server by an event, and executes the commands that follow. */
    send: Effect.fnUntraced(function* (name: string, event: Event) {
      yield* launch(name, yield* dispatch(name, () => event))
    }, Effect.uninterruptible),
    /** Executes commands: closes sessions concurrently, runs `between`, and starts servers. */
    execute: Effect.fnUntraced(function* (commands: McpServerCommands, between: Effect.Effect<void>) {
      const works = yield* Effect.forEach(
        commands,
        ([name, wanted]) => Effect.map(perform(name, wanted), (next) => [name, next] as const),
        { concurrency: "unbounded" }
      )
      yield* between
      yield* Effect.forEach(works, ([name, next]) => launch(name, next), { discard: true })
    })
  }
})
