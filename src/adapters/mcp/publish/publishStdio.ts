import { PassThrough, type Readable, type Writable } from "node:stream"
import type { JSONRPCMessage } from "@modelcontextprotocol/server"
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { Deferred, Effect, Exit, FiberMap, Logger, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../application/ports/McpSession.ts"
import { internalError, type JsonRpcError } from "./methodHandler.ts"
import { makePublishedSession } from "./PublishedSession.ts"
import { watchResources, decodeListenRequest } from "./resourceSubscriptions.ts"

/** How large one message of a client may be, in bytes: arguments may hold files. */
const maxMessageBytes = 16 * 1024 * 1024

/** How long answers may take when the session has ended, or when the client has closed its end. */
const drainTimeout = "1 second"

/** How long it takes at most until what has been read is under way. */
const inputSettleDelay = "100 millis"

/** How often one client may listen at once: one request to listen can ask for everything. */
const maxListenRequests = 64

const tooManyListenRequests = internalError(
  `more than ${maxListenRequests} concurrent subscriptions/listen requests`
)

/** The streams a session is published over. */
export interface PublishStdioOptions {
  /** The standard input of this process unless given. */
  readonly stdin?: Readable
  /** The standard output of this process unless given. Nothing else may be written to it. */
  readonly stdout?: Writable
}

type RequestId = string | number

const requestIdOf = (message: JSONRPCMessage): RequestId | undefined =>
  "id" in message ? message.id : undefined

/** The request that a notification gives up, if it does. */
const cancelledIdOf = (message: JSONRPCMessage): RequestId | undefined => {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined
  const { requestId } = message.params ?? {}
  return typeof requestId === "string" || typeof requestId === "number" ? requestId : undefined
}

/** What ends a stream, each alone or together with others. */
const endEvents = ["end", "close", "error"]

/** A copy of a stream that goes on when the stream has ended, until whoever is told of that ends it, too. */
const pipeInput = (stdin: Readable, onEnd: (input: PassThrough) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const input = new PassThrough()
        const ended = () => onEnd(input)
        for (const ending of endEvents) stdin.once(ending, ended)
        stdin.pipe(input, { end: false })
        if (stdin.readableEnded || stdin.destroyed) ended()
        return { input, ended }
      }),
      ({ ended, input }) =>
        Effect.sync(() => {
          for (const ending of endEvents) stdin.off(ending, ended)
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
  ): Effect.fn.Return<void, McpSessionError, Scope.Scope> {
    const { changes, makeClientServer, fork, run, awaitIdle } = yield* makePublishedSession(session)
    const clientClosed = yield* Deferred.make<void>()
    const listenFibers = yield* FiberMap.make<RequestId>()
    const drained = awaitIdle.pipe(Effect.timeoutOption(drainTimeout), Effect.andThen(Effect.yieldNow))
    const input = yield* pipeInput(stdin, (opened) =>
      fork(
        Effect.sleep(inputSettleDelay).pipe(
          Effect.andThen(drained),
          Effect.andThen(Effect.sync(() => void opened.end()))
        )
      )
    )
    const transport = new StdioServerTransport(input, stdout, { maxBufferSize: maxMessageBytes })

    const sendError = (id: RequestId, { code, message }: JsonRpcError) =>
      Effect.ignore(Effect.tryPromise(() => transport.send({ jsonrpc: "2.0", id, error: { code, message } })))

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const handle = serveStdio(({ era }) => run(makeClientServer(era)), {
          transport,
          onerror: (error) => fork(Effect.logDebug("MCP stdio transport error", { reason: error.message }))
        })
        const { onclose, onmessage } = transport
        // Whoever listens to resources is told that only once they are watched.
        transport.onmessage = (message) => {
          const id = requestIdOf(message)
          const uris = decodeListenRequest(message)
          if (id !== undefined && uris !== undefined && session.info.capabilities.subscribe) {
            const listen = Effect.gen(function* () {
              if ((yield* FiberMap.size(listenFibers)) > maxListenRequests)
                return yield* tooManyListenRequests
              yield* watchResources(changes, uris)
              onmessage?.(message)
              return yield* Effect.never
            })
            return fork(
              FiberMap.run(
                listenFibers,
                id,
                Effect.catch(Effect.scoped(listen), (error) => sendError(id, error))
              )
            )
          }
          const cancelled = cancelledIdOf(message)
          if (cancelled !== undefined) fork(FiberMap.remove(listenFibers, cancelled))
          return onmessage?.(message)
        }
        transport.onclose = () => {
          onclose?.()
          Deferred.doneUnsafe(clientClosed, Exit.void)
        }
        return handle
      }),
      (handle) => Effect.ignore(Effect.tryPromise(() => handle.close()))
    )
    const sessionEnded = Effect.flatMap(session.closed, (failure) =>
      Effect.andThen(drained, Effect.fail(failure))
    )
    yield* Effect.raceFirst(Deferred.await(clientClosed), sessionEnded)
  },
  Effect.provideService(Logger.LogToStderr, true)
)
