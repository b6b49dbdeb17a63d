import { createServer, type Server, type Socket } from "node:net"
import { Effect, Exit, Scope } from "effect"
import { makeMemoryMcpServer, type MemoryMcpServerOptions } from "../../../src/adapters/memory/MemoryMcp.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import type { McpSession } from "../../../src/application/ports/McpSession.ts"
import {
  A2cError,
  type ComputerOptions,
  type ConnectedAgent,
  connectAgent,
  type NodeAgentConnectOptions,
  runComputer,
  type RunningComputer,
  type RunningServer,
  runServer,
  type ServerOptions
} from "../../../src/main/entrypoints/promise.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

/** An office for promises, whose participants are closed at the end. */
export interface PromiseOffice {
  readonly server: RunningServer
  /** The Agent `thinker`, and the Computer `desk`, in the office `team`, unless options say otherwise. */
  readonly agent: (options?: Partial<NodeAgentConnectOptions>) => Promise<ConnectedAgent>
  readonly computer: (options?: Partial<ComputerOptions>) => Promise<RunningComputer>
  /** Publishes an MCP server of this process over HTTP; gives its entry in a configuration. */
  readonly mcpServer: (
    options: MemoryMcpServerOptions,
    change?: (session: McpSession) => McpSession
  ) => Promise<{ readonly type: "streamable"; readonly server_parameters: { readonly url: string } }>
  /** Acquires a resource, which is released at the end. */
  readonly acquire: <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) => Promise<A>
  /** A new folder. */
  readonly folder: () => Promise<string>
  readonly defer: (release: () => unknown) => void
}

const quiet = { log: () => undefined }

/** Runs a test in a new office, then closes all participants in reverse order. */
export const inOffice = async <A>(
  use: (office: PromiseOffice) => Promise<A>,
  options: Partial<ServerOptions> = {}
): Promise<A> => {
  const scope = Scope.makeUnsafe()
  const acquire: PromiseOffice["acquire"] = (effect) => Effect.runPromise(Scope.provide(effect, scope))
  const defer: PromiseOffice["defer"] = (release) =>
    Effect.runSync(
      Scope.addFinalizer(
        scope,
        Effect.promise(async () => release())
      )
    )
  const closing = <A extends AsyncDisposable>(part: A): A => {
    defer(() => part[Symbol.asyncDispose]())
    return part
  }
  const server = closing(await runServer({ authenticate: "allowAll", ...quiet, ...options }))
  const place = { url: server.url, office: "team", ...quiet }
  // What still joins at the end of the test is given up.
  const ending = new AbortController()
  const parts: PromiseOffice = {
    server,
    agent: async (more = {}) => closing(await connectAgent({ ...place, name: "thinker", ...more }, ending)),
    computer: async (more = {}) =>
      closing(await runComputer({ ...place, name: "desk", config: { servers: {} }, ...more }, ending)),
    acquire,
    mcpServer: async (parts, change = (session) => session) => {
      const published = Effect.gen(function* () {
        const { connect } = yield* makeMemoryMcpServer(parts)
        return yield* publishHttp(change(yield* connect), { port: 0, token: "allowAll" })
      })
      const { url } = await acquire(published)
      return { type: "streamable", server_parameters: { url } }
    },
    folder: () => acquire(temporaryFolder),
    defer
  }
  try {
    return await use(parts)
  } finally {
    ending.abort()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  }
}

/** The code of a rejection, or `resolved`. */
export const codeOf = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise
    return "resolved"
  } catch (error) {
    return error instanceof A2cError ? error.code : String(error)
  }
}

/**
 * Gives up on what is awaited: after more than any machine needs for it, or, if it should not happen, after more than the
 * option under test lets something wait.
 */
export const waitLimit = (isExpected: boolean): { readonly signal: AbortSignal } => ({
  signal: AbortSignal.timeout(isExpected ? 60_000 : 1500)
})

/** The first value that a predicate accepts, or `undefined` when the iteration ends or is aborted. */
export const firstOf = async <A>(values: AsyncIterable<A>, accepts: (value: A) => boolean): Promise<A | undefined> => {
  try {
    for await (const value of values) if (accepts(value)) return value
  } catch (error) {
    if (!(error instanceof A2cError && error.code === "aborted")) throw error
  }
  return undefined
}

/** The URL of a server that accepts connections and never answers. */
export const silentUrl = async (defer: PromiseOffice["defer"]): Promise<string> => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  defer(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}
