import { PassThrough, type Readable, type Writable } from "node:stream"
import type { JSONRPCMessage } from "@modelcontextprotocol/server"
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { Deferred, Effect, Exit, FiberMap, Logger, type Scope } from "effect"
import type { McpFailure, McpSession } from "../../../application/ports/McpSession.ts"
import { Refusal } from "./answers.ts"
import { makePublication } from "./Publication.ts"
import { followAll, listenedTo } from "./subscriptions.ts"

/** How large one message of a client may be, in bytes: arguments may hold files. */
const largestMessage = 16 * 1024 * 1024

/** How long answers may take when the session has ended, or when the client has closed its end. */
const lastWords = "1 second"

/** How long it takes at most until what has been read is under way. */
const reading = "100 millis"

/** How often one client may listen at once: one request to listen can ask for everything. */
const mostListening = 64

const tooMany = new Refusal({ code: -32603, message: `listening more than ${mostListening} times at once` })

/** The streams a session is published over. */
export interface PublishStdioOptions {
  /** The standard input of this process unless given. */
  readonly stdin?: Readable
  /** The standard output of this process unless given. Nothing else may be written to it. */
  readonly stdout?: Writable
}

type Id = string | number

const idOf = (message: JSONRPCMessage): Id | undefined => ("id" in message ? message.id : undefined)

/** The request that a notification gives up, if it does. */
const cancelledBy = (message: JSONRPCMessage): Id | undefined => {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined
  const { requestId } = message.params ?? {}
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined
}

/** What ends a stream, each alone or together with others. */
const endings = ["end", "close", "error"]

/** A copy of a stream that goes on when the stream has ended, until whoever is told of that ends it, too. */
const openInput = (stdin: Readable, hasEnded: (input: PassThrough) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const input = new PassThrough()
        const ended = () => hasEnded(input)
        for (const ending of endings) stdin.once(ending, ended)
        stdin.pipe(input, { end: false })
        if (stdin.readableEnded || stdin.destroyed) ended()
        return { input, ended }
      }),
      ({ ended, input }) =>
        Effect.sync(() => {
          for (const ending of endings) stdin.off(ending, ended)
          stdin.unpipe(input).pause()
        })
    ),
    ({ input }) => input
  )

/**
 * Serves a session as an MCP server over a pair of streams, in any revision of MCP up to 2026-07-28: which one is the
 * client's choice with its first message. Succeeds when the client has closed its end; what it has asked before is still
 * answered for a second, so that requests can be piped in, then its calls are interrupted. Fails when the session has
 * ended, after its calls have been answered. Closing the scope ends everything. The log goes to stderr here.
 */
export const publishStdio = Effect.fnUntraced(
  function* (
    session: McpSession,
    { stdin = process.stdin, stdout = process.stdout }: PublishStdioOptions = {}
  ): Effect.fn.Return<void, McpFailure, Scope.Scope> {
    const { changes, forClient, fork, run, settled } = yield* makePublication(session)
    const log = Effect.runForkWith(yield* Effect.context<never>())
    const left = yield* Deferred.make<void>()
    const listening = yield* FiberMap.make<Id>()
    const finished = settled.pipe(Effect.timeoutOption(lastWords), Effect.andThen(Effect.yieldNow))
    const input = yield* openInput(stdin, (opened) =>
      fork(
        Effect.sleep(reading).pipe(
          Effect.andThen(finished),
          Effect.andThen(Effect.sync(() => void opened.end()))
        )
      )
    )
    const wire = new StdioServerTransport(input, stdout, { maxBufferSize: largestMessage })

    const refuse = (id: Id, { code, message }: Refusal) =>
      Effect.ignore(Effect.tryPromise(() => wire.send({ jsonrpc: "2.0", id, error: { code, message } })))

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const handle = serveStdio(({ era }) => run(forClient(era)), {
          transport: wire,
          onerror: (error) => log(Effect.logDebug("MCP over stdio", { reason: error.message }))
        })
        const { onclose, onmessage } = wire
        // Whoever listens to resources is told that only once they are watched.
        wire.onmessage = (message) => {
          const id = idOf(message)
          const uris = listenedTo(message)
          if (id !== undefined && uris !== undefined && session.info.capabilities.subscribe) {
            const listen = Effect.gen(function* () {
              if ((yield* FiberMap.size(listening)) > mostListening) return yield* tooMany
              yield* followAll(changes, uris)
              onmessage?.(message)
              return yield* Effect.never
            })
            return fork(
              FiberMap.run(
                listening,
                id,
                Effect.catch(Effect.scoped(listen), (refusal) => refuse(id, refusal))
              )
            )
          }
          const cancelled = cancelledBy(message)
          if (cancelled !== undefined) fork(FiberMap.remove(listening, cancelled))
          return onmessage?.(message)
        }
        wire.onclose = () => {
          onclose?.()
          Deferred.doneUnsafe(left, Exit.void)
        }
        return handle
      }),
      (handle) => Effect.ignore(Effect.tryPromise(() => handle.close()))
    )
    const over = Effect.flatMap(session.ended, (failure) => Effect.andThen(finished, Effect.fail(failure)))
    yield* Effect.raceFirst(Deferred.await(left), over)
  },
  Effect.provideService(Logger.LogToStderr, true)
)
