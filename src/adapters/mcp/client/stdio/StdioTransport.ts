import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js"
import { type Cause, Deferred, Effect, Exit, Queue, Result, type Scope, Stream } from "effect"
import { ChildProcessSpawner } from "effect/process"
import type { McpSessionError } from "../../../../application/ports/McpSession.ts"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"
import { parseJson } from "../../../../domain/json.ts"
import { makeLineCodec } from "./LineCodec.ts"
import { type Line, makeLineSplitter, newline } from "./LineSplitter.ts"
import { maxMessageBytes } from "../mcpMessages.ts"
import { sessionError } from "../../sessionError.ts"
import { makeCommand, shutdownTimeouts } from "./serverCommand.ts"
import { unreadableResponse } from "./unreadableResponse.ts"

/** How many messages may wait to be written; a server that reads nothing holds up its callers, not our memory. */
const maxQueuedWrites = 64

/** How much of what a server complains about is kept: the last line, in characters; one of more bytes is cut. */
const stderrLimits = { maxCharacters: 500, maxBytes: 64 * 1024 }

const parseMessage = (text: string): Result.Result<JSONRPCMessage, string> => {
  const message = parseJson(text)
  if (message === undefined) return Result.fail("not JSON")
  return JSONRPCMessageSchema.safeParse(message).success
    ? Result.succeed(message as JSONRPCMessage)
    : Result.fail("not a JSON-RPC message")
}

const spawnFailure = (defect: unknown): McpSessionError => {
  const code = defect instanceof Error && "code" in defect ? defect.code : undefined
  return sessionError("unavailable", `process failed to start${typeof code === "string" ? `: ${code}` : ""}`)
}

/** A transport of the MCP SDK over a child process, and how that child ended. */
export interface StdioTransport {
  readonly transport: Transport
  readonly pid: number
  /** Why the process ended; for the owner's eyes, since it quotes what the process said. */
  readonly exitReason: Effect.Effect<string>
}

/**
 * Starts an MCP server and talks with it over its standard streams. When the scope closes the server may end by
 * itself, is then told to terminate, and is then killed, each time with everything it has started.
 */
export const makeStdioTransport = Effect.fnUntraced(function* (
  server: string,
  parameters: StdioParameters
): Effect.fn.Return<StdioTransport, McpSessionError, Scope.Scope | ChildProcessSpawner.ChildProcessSpawner> {
  const codec = yield* Effect.fromResult(
    Result.mapError(makeLineCodec(parameters.encoding, parameters.encodingErrorHandler), (message) =>
      sessionError("unavailable", message)
    )
  )
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const child = yield* spawner.spawn(makeCommand(parameters, process.env)).pipe(
    Effect.mapError(({ message }) => sessionError("unavailable", message)),
    // Node throws some errors of the system where it tells others, such as arguments that are too long.
    Effect.catchDefect((defect) => Effect.fail(spawnFailure(defect)))
  )
  const outgoing = yield* Queue.bounded<Uint8Array, Cause.Done>(maxQueuedWrites)
  let lastStderrLine: string | undefined

  const started = yield* Deferred.make<void>()
  /** The last answer to a request of the server, until it has its place among what is written. */
  let lastReply: Promise<unknown> = Promise.resolve()

  const transport: Transport = {
    start: async () => void Deferred.doneUnsafe(started, Exit.void),
    send: (message) => {
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

  const split = makeLineSplitter(maxMessageBytes, codec.codeUnitBytes)
  let isNoisy = false
  /** The first noise is worth the owner's attention; the rest of it would only be more of the same. */
  const ignoreOutput = (reason: string) =>
    Effect.suspend(() => {
      const facts = { server, reason }
      if (isNoisy) return Effect.logDebug("stdout line ignored", facts)
      isNoisy = true
      return Effect.logWarning("stdout line ignored: stdout is reserved for JSON-RPC messages", facts)
    })
  /** A server that asks and asks, and reads no answer, is not listened to until it does. */
  const replyQueued = Effect.andThen(
    Effect.yieldNow,
    Effect.promise(() => lastReply)
  )
  /** What the receiver throws, as it does at what is nested too deep for it, ends nobody's reading. */
  const deliver = (message: JSONRPCMessage) =>
    Effect.try({ try: () => transport.onmessage?.(message), catch: String }).pipe(
      Effect.catch(ignoreOutput),
      Effect.andThen("method" in message && "id" in message ? replyQueued : Effect.void)
    )
  const handleLine = (line: Line): Effect.Effect<void> => {
    if (line._tag === "TooLong") {
      const message = unreadableResponse(line.edges, `The response exceeds ${maxMessageBytes} bytes`)
      return Effect.andThen(
        Effect.logWarning("stdout message exceeds limit", { server, maxBytes: maxMessageBytes }),
        message === undefined ? Effect.void : deliver(message)
      )
    }
    const text = codec.decode(line.bytes)
    if (Result.isFailure(text)) {
      const message = unreadableResponse(line.bytes, `The response cannot be decoded: ${text.failure}`)
      return message === undefined ? ignoreOutput(text.failure) : deliver(message)
    }
    if (text.success.trim() === "") return Effect.void
    return Result.match(parseMessage(text.success), { onFailure: ignoreOutput, onSuccess: deliver })
  }
  /** A line that nobody was ready for costs that line, and nobody's reading. */
  const handleLineSafely = (line: Line) =>
    Effect.catchDefect(
      Effect.suspend(() => handleLine(line)),
      (defect) => Effect.logError("stdout line handler failed", { server }, defect)
    )
  yield* Deferred.await(started).pipe(
    Effect.andThen(
      Stream.runForEach(child.stdout, (chunk) =>
        Effect.forEach(split(chunk), handleLineSafely, { discard: true })
      )
    ),
    Effect.ignore,
    Effect.forkScoped
  )
  const splitStderr = makeLineSplitter(stderrLimits.maxBytes)
  const recordStderr = (line: Line) =>
    Effect.suspend(() => {
      const text = new TextDecoder().decode(line._tag === "Line" ? line.bytes : line.edges).trimEnd()
      if (text === "") return Effect.void
      lastStderrLine = text.slice(0, stderrLimits.maxCharacters)
      return Effect.logDebug("stderr", { server, line: text })
    })
  // Last words may lack the end of their line.
  yield* Stream.concat(child.stderr, Stream.succeed(Uint8Array.of(newline))).pipe(
    Stream.runForEach((chunk) => Effect.forEach(splitStderr(chunk), recordStderr, { discard: true })),
    Effect.ignore,
    Effect.forkScoped
  )
  yield* Stream.fromQueue(outgoing).pipe(Stream.run(child.stdin), Effect.ignore, Effect.forkScoped)

  const exitReason = Effect.map(Effect.exit(child.exitCode), (exit) => {
    const quote = lastStderrLine === undefined ? "" : `: ${lastStderrLine}`
    if (Exit.isFailure(exit)) return `the process was killed${quote}`
    return exit.value === 127
      ? `command "${parameters.command}" not found`
      : `the process exited with code ${exit.value}${quote}`
  })

  // Runs before the child is told to terminate: a server may end by itself when nobody talks to it any more.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Queue.end(outgoing),
      Effect.timeoutOption(Effect.interruptible(Effect.exit(child.exitCode)), shutdownTimeouts.afterInputEnd)
    )
  )

  yield* Effect.forkScoped(
    Effect.andThen(
      exitReason,
      Effect.sync(() => transport.onclose?.())
    )
  )
  return { transport, pid: child.pid, exitReason }
})
