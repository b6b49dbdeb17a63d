import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js"
import { type Cause, Deferred, Effect, Exit, Fiber, Queue, Stream } from "effect"
import { type McpSessionError, sessionError } from "../../../../application/ports/McpSession.ts"
import { ServerOutput } from "../../../../application/ports/mcp/ServerOutput.ts"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"
import { pipeNetwork } from "../../mcpTelemetry.ts"
import { makeLineCodec } from "./LineCodec.ts"
import { type Line, makeLineSplitter, newline } from "./LineSplitter.ts"
import { makeOutputHandler } from "./outputHandler.ts"
import { type JsonRpcMessage, recordSent, withRequestId } from "../../jsonRpcMessages.ts"
import { exitError, shutdownTimeouts, startProcess } from "./serverProcess.ts"

/** Backpressure: callers wait when the server does not read its input. */
const maxQueuedWrites = 64

/** Limits for the stderr lines that are kept. A child of the process may keep stderr open. */
const stderrLimits = { maxCharacters: 500, maxLines: 20, maxBytes: 64 * 1024, timeoutAfterExit: "100 millis" } as const

/** Makes the log of ignored lines. It warns about the first one; later ones are logged at debug level. */
const makeIgnoreOutput = (server: string) => {
  let ignored = 0
  return (reason: string) =>
    Effect.suspend(() =>
      ignored++ === 0
        ? Effect.logWarning("stdout line ignored: stdout is reserved for JSON-RPC messages", { server, reason })
        : Effect.logDebug("stdout line ignored", { server, reason })
    )
}

/** Logs the lines that a server writes to stderr, and keeps the starts of the last ones until its output ends. */
const readStderr = Effect.fnUntraced(function* <E>(server: string, stderr: Stream.Stream<Uint8Array, E>) {
  const onOutput = yield* ServerOutput
  let lines: ReadonlyArray<string> = []
  const splitStderr = makeLineSplitter(stderrLimits.maxBytes)
  const recordStderr = (line: Line) =>
    Effect.suspend(() => {
      // Only the first edge: redaction recognises a secret that is cut at the end of a text.
      const bytes = line._tag === "Line" ? line.bytes : line.edges.subarray(0, line.edges.length / 2)
      const text = new TextDecoder().decode(bytes).trimEnd()
      if (text === "") return Effect.void
      lines = [...lines, text.slice(0, stderrLimits.maxCharacters)].slice(-stderrLimits.maxLines)
      onOutput(server, text)
      return Effect.logDebug("stderr", { server, line: text })
    })
  // The last line may lack its newline.
  const reader = yield* Stream.concat(stderr, Stream.succeed(Uint8Array.of(newline))).pipe(
    Stream.runForEach((chunk) => Effect.forEach(splitStderr(chunk), recordStderr, { discard: true })),
    Effect.ignore,
    Effect.forkScoped
  )
  return {
    /** Waits a moment for the rest, and gives the last lines. */
    lastLines: Effect.map(Effect.timeoutOption(Fiber.await(reader), stderrLimits.timeoutAfterExit), () => lines)
  }
})

/** When the scope closes, stdin ends, then the process group is terminated, then killed. */
export const makeStdioTransport = Effect.fnUntraced(function* (server: string, parameters: StdioParameters) {
  const codec = yield* Effect.fromResult(makeLineCodec(parameters.encoding, parameters.encodingErrorHandler)).pipe(
    Effect.mapError((message) => sessionError("unavailable", message))
  )
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const child = yield* startProcess(parameters)
  const outgoing = yield* Queue.bounded<Uint8Array, Cause.Done>(maxQueuedWrites)
  const started = yield* Deferred.make<void>()
  const pendingIds = new Set<unknown>()
  /** The last response to a server request, until it is queued. */
  let lastReply: Promise<unknown> = Promise.resolve()

  const transport: Transport = {
    start: async () => void Deferred.doneUnsafe(started, Exit.void),
    send: (message) => {
      recordSent(pendingIds, message)
      const sending = run(
        Effect.flatMap(Queue.offer(outgoing, codec.encode(`${JSON.stringify(message)}\n`)), (taken) =>
          taken ? Effect.void : Effect.die(new Error("Not connected"))
        )
      )
      if (!("method" in message)) lastReply = sending.catch(() => undefined)
      return sending
    },
    close: async () => transport.onclose?.()
  }

  const ignoreOutput = makeIgnoreOutput(server)
  /** Backpressure for a server that sends requests without reading the responses. */
  const replyQueued = Effect.andThen(
    Effect.yieldNow,
    Effect.promise(() => lastReply)
  )
  /** The SDK handles notifications a moment later: a response would overtake them, and lose the progress of its call. */
  const handled = (message: JsonRpcMessage) => {
    if (!("method" in message)) return Effect.void
    return "id" in message ? replyQueued : Effect.yieldNow
  }
  /** An exception of the receiver, such as excessive nesting, must not stop the reader. */
  const deliver = (received: JsonRpcMessage) => {
    const message = withRequestId(received, pendingIds)
    if (!("method" in message)) pendingIds.delete(message.id)
    return Effect.try({ try: () => transport.onmessage?.(message as JSONRPCMessage), catch: String }).pipe(
      Effect.catch(ignoreOutput),
      Effect.andThen(handled(message))
    )
  }
  const handleOutput = makeOutputHandler({ server, codec, deliver, ignoreOutput })
  yield* Deferred.await(started).pipe(
    Effect.andThen(Stream.runForEach(child.stdout, handleOutput)),
    Effect.ignore,
    Effect.forkScoped
  )
  const { lastLines } = yield* readStderr(server, child.stderr)
  yield* Stream.fromQueue(outgoing).pipe(Stream.run(child.stdin), Effect.ignore, Effect.forkScoped)

  // Runs before the process is terminated: a server may exit by itself when its input ends.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Queue.end(outgoing),
      Effect.timeoutOption(Effect.interruptible(Effect.exit(child.exitCode)), shutdownTimeouts.afterInputEnd)
    )
  )

  const lost = yield* Deferred.make<McpSessionError>()
  const reportExit = Effect.gen(function* () {
    const exit = yield* Effect.exit(child.exitCode)
    yield* Deferred.succeed(lost, yield* exitError(exit, parameters, yield* lastLines))
    transport.onclose?.()
  })
  yield* Effect.forkScoped(reportExit)
  return { transport, network: pipeNetwork, pid: child.pid, lost }
})
