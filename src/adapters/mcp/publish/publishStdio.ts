import { finished, PassThrough, type Readable, type Writable } from "node:stream"
import type { JSONRPCMessage } from "@modelcontextprotocol/server"
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { Deferred, Effect, Exit, FiberMap, Logger, type Scope } from "effect"
import type { McpSessionError, McpSession } from "../../../application/ports/McpSession.ts"
import { type Line, makeLineSplitter, newline } from "../client/stdio/LineSplitter.ts"
import { decodeClientLine } from "./clientMessages.ts"
import { jsonRpcError } from "./jsonRpcErrors.ts"
import { pipeNetwork } from "../mcpTelemetry.ts"
import { makePublishedSession } from "./PublishedSession.ts"
import { decodeListenRequest, watchResources } from "./ChangeFeed.ts"

/** Largest message of a client in bytes; arguments may contain files. */
const maxMessageBytes = 16 * 1024 * 1024

/** How long pending requests may take after the session or the client closes. */
const drainTimeout = "1 second"

/** Upper bound for the time between reading a request and starting it. */
const inputSettleDelay = "100 millis"

/** Maximum concurrent listen requests of one client: one can cover all subscriptions. */
const maxListenRequests = 64

const tooManyListenRequests = jsonRpcError(
  "internalError",
  `more than ${maxListenRequests} concurrent subscriptions/listen requests`
)

export interface PublishStdioOptions {
  /** `process.stdin` by default. */
  readonly stdin?: Readable
  /** `process.stdout` by default. Nothing else may write to it. */
  readonly stdout?: Writable
}

/** Reads lines until the scope closes. The last line may lack its newline. */
const readLines = (stdin: Readable, onLine: (line: Line) => void) => {
  const split = makeLineSplitter(maxMessageBytes)
  const onData = (chunk: Uint8Array | string) => {
    for (const line of split(typeof chunk === "string" ? Buffer.from(chunk) : chunk)) onLine(line)
  }
  const onEnd = () => onData(Uint8Array.of(newline))
  return Effect.acquireRelease(
    Effect.sync(() => void stdin.on("data", onData).once("end", onEnd)),
    () => Effect.sync(() => void stdin.off("data", onData).off("end", onEnd).pause())
  )
}

/**
 * Serves a session as an MCP server over a pair of streams, in any MCP revision up to 2026-07-28; the client's first
 * message selects it. Succeeds when the client closes its end. Requests before that have one second to complete, for
 * piped input, and are then interrupted. Fails when the session closes, after its calls have completed. Closing the
 * scope ends everything. Logs go to stderr.
 */
export const publishStdio = Effect.fnUntraced(
  function* (
    session: McpSession,
    { stdin = process.stdin, stdout = process.stdout }: PublishStdioOptions = {}
  ): Effect.fn.Return<void, McpSessionError, Scope.Scope> {
    const { changes, makeClientServer, fork, run, awaitIdle } = yield* makePublishedSession(session, pipeNetwork)
    const clientClosed = yield* Deferred.make<void>()
    const listenFibers = yield* FiberMap.make<unknown>()
    const drained = awaitIdle.pipe(Effect.timeoutOption(drainTimeout), Effect.andThen(Effect.yieldNow))
    /** The input of the SDK's transport only ends: {@link readLines} has the messages. */
    const input = new PassThrough()
    const endInput = Effect.andThen(
      Effect.delay(drained, inputSettleDelay),
      Effect.sync(() => input.end())
    )
    yield* Effect.acquireRelease(
      Effect.sync(() => finished(stdin, { writable: false }, () => fork(endInput))),
      (ignoreEnd) => Effect.sync(ignoreEnd)
    )
    const transport = new StdioServerTransport(input, stdout)

    const send = (message: JSONRPCMessage) => Effect.ignore(Effect.tryPromise(() => transport.send(message)))

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const handle = serveStdio(({ era }) => run(makeClientServer(era)), {
          transport,
          onerror: (error) => fork(Effect.logDebug("MCP stdio transport error", { reason: error.message }))
        })
        const { onclose, onmessage } = transport
        // A listen request is acknowledged after its resources are watched.
        transport.onmessage = (message) => {
          const id = "id" in message ? message.id : undefined
          const uris = decodeListenRequest(message)
          if (id !== undefined && uris !== undefined && session.info.capabilities.subscribe) {
            const listen = Effect.gen(function* () {
              // It starts before it is one of them.
              if ((yield* FiberMap.size(listenFibers)) >= maxListenRequests) return yield* tooManyListenRequests
              yield* watchResources(changes, uris)
              onmessage?.(message)
              return yield* Effect.never
            }).pipe(
              Effect.scoped,
              Effect.catch(({ code, message }) => send({ jsonrpc: "2.0", id, error: { code, message } }))
            )
            return fork(FiberMap.run(listenFibers, id, listen))
          }
          if ("method" in message && message.method === "notifications/cancelled") {
            fork(FiberMap.remove(listenFibers, message.params?.["requestId"]))
          }
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
    const handleMessage = (decoded: ReturnType<typeof decodeClientLine>[number]) => {
      if ("message" in decoded) transport.onmessage?.(decoded.message as JSONRPCMessage)
      else fork(send(decoded.rejection as JSONRPCMessage))
    }
    yield* readLines(stdin, (line) => {
      try {
        decodeClientLine(line).forEach(handleMessage)
      } catch (error) {
        fork(Effect.logDebug("stdin line ignored", { reason: String(error) }))
      }
    })
    const sessionEnded = Effect.flatMap(session.closed, (failure) => Effect.andThen(drained, Effect.fail(failure)))
    yield* Effect.raceFirst(Deferred.await(clientClosed), sessionEnded)
  },
  Effect.provideService(Logger.LogToStderr, true)
)
