import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js"
import { type Cause, Deferred, Effect, Exit, Queue, Result, type Scope, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { McpFailure } from "../../application/ports/McpSession.ts"
import type { StdioParameters } from "../../domain/protocol/v0_2/parameters.ts"
import { type Line, makeLineSplitter } from "./LineSplitter.ts"

/** Largest message a server may send, in bytes. */
const maxMessageBytes = 64 * 1024 * 1024

/** How many messages may wait to be written; a server that reads nothing holds up its callers, not our memory. */
const writeBacklog = 64

/** How much of what a server complains about is kept, in lines of at most so many characters. */
const complaints = { lines: 50, characters: 500 }

/** How long a server may take to end by itself when its input ends, and after it was told to terminate. */
const patience = { input: "300 millis", terminate: "2 seconds" } as const

/** What a child inherits from us unless its configuration says otherwise: what it takes to run, and no secrets. */
const inherited = [
  "HOME",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "USER",
  "LANG",
  "TMPDIR",
  "SystemRoot",
  "APPDATA"
]

/**
 * Runs the command so that nothing of it outlives us, however we end. A watcher in its process group waits on
 * descriptor 3, which the system closes when we are gone, and then kills the group. The shell stays to collect its
 * children, and ends as the command ended.
 */
const guard = `
exec 4<&0 </dev/null
"$@" <&4 3<&- 4<&- & server=$!
exec 4<&- >/dev/null 2>&1
(read -r _ <&3; kill -s KILL -- -$$) & watcher=$!
exec 3<&-
trap : TERM
wait $server; status=$?
while kill -0 $server; do wait $server; status=$?; done
kill -s KILL $watcher; wait $watcher
exit $status
`

const commandOf = ({ args, command, cwd, env }: StdioParameters, environment: NodeJS.ProcessEnv) => {
  const given = Object.fromEntries(
    inherited.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
  )
  const options = {
    ...(cwd !== null && { cwd }),
    env: { ...given, ...env },
    forceKillAfter: patience.terminate
  } as const
  return process.platform === "win32"
    ? ChildProcess.make(command, args, options)
    : ChildProcess.make("/bin/sh", ["-c", guard, "sh", command, ...args], {
        ...options,
        additionalFds: { fd3: { type: "input" } }
      })
}

const decoderFor = ({ encoding, encodingErrorHandler }: StdioParameters) =>
  Effect.try({
    try: () => new TextDecoder(encoding, { fatal: encodingErrorHandler === "strict" }),
    catch: () => new McpFailure({ kind: "unavailable", message: `unknown encoding "${encoding}"` })
  }).pipe(
    Effect.map((decoder) => (bytes: Uint8Array) => {
      const text = decoder.decode(bytes)
      return encodingErrorHandler === "ignore" ? text.replaceAll("\u{fffd}", "") : text
    })
  )

/** The id of the request that a message too long to read answers, if its edges show it. */
const answeredId = (edges: Uint8Array): string | number | undefined => {
  const text = new TextDecoder().decode(edges)
  const id = /"id"\s*:\s*("[^"\\]{1,100}"|\d{1,15})/.exec(text)?.[1]
  return id === undefined ? undefined : (JSON.parse(id) as string | number)
}

const tooLong = (edges: Uint8Array): JSONRPCMessage | undefined => {
  const id = answeredId(edges)
  const message = `The answer is larger than ${maxMessageBytes} bytes`
  return id === undefined ? undefined : { jsonrpc: "2.0", id, error: { code: -32603, message } }
}

const readMessage = (text: string): Result.Result<JSONRPCMessage, string> => {
  const value = Result.try({ try: (): unknown => JSON.parse(text), catch: () => "it is not JSON" })
  return Result.flatMap(value, (message) =>
    JSONRPCMessageSchema.safeParse(message).success
      ? Result.succeed(message as JSONRPCMessage)
      : Result.fail("it is no JSON-RPC message")
  )
}

const encoder = new TextEncoder()

/** A transport of the MCP SDK over a child process, and how that child ended. */
export interface StdioTransport {
  readonly transport: Transport
  readonly pid: number
  /** Why the process ended; for the owner's eyes, since it quotes what the process said. */
  readonly exited: Effect.Effect<string>
}

/**
 * Starts an MCP server and talks with it over its standard streams. When the scope closes the server may end by
 * itself, is then told to terminate, and is then killed, each time with everything it has started.
 */
export const makeStdioTransport = Effect.fnUntraced(function* (
  server: string,
  parameters: StdioParameters
): Effect.fn.Return<StdioTransport, McpFailure, Scope.Scope | ChildProcessSpawner.ChildProcessSpawner> {
  const decode = yield* decoderFor(parameters)
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  const run = Effect.runPromiseWith(yield* Effect.context<never>())
  const child = yield* Effect.mapError(
    spawner.spawn(commandOf(parameters, process.env)),
    ({ message }) => new McpFailure({ kind: "unavailable", message })
  )
  const outgoing = yield* Queue.bounded<Uint8Array, Cause.Done>(writeBacklog)
  const said: Array<string> = []

  const started = yield* Deferred.make<void>()

  const transport: Transport = {
    start: async () => void Deferred.doneUnsafe(started, Exit.void),
    send: (message) =>
      run(
        Effect.flatMap(Queue.offer(outgoing, encoder.encode(`${JSON.stringify(message)}\n`)), (taken) =>
          taken ? Effect.void : Effect.die(new Error("Not connected"))
        )
      ),
    close: async () => transport.onclose?.()
  }

  const split = makeLineSplitter(maxMessageBytes)
  const read = (line: Line): Effect.Effect<void> => {
    if (line._tag === "TooLong") {
      const answer = tooLong(line.edges)
      return Effect.andThen(
        Effect.logWarning("message too long", { server, limit: maxMessageBytes }),
        Effect.sync(() => answer !== undefined && transport.onmessage?.(answer))
      )
    }
    const text = Result.try({
      try: () => decode(line.bytes),
      catch: () => "it is not in the given encoding"
    })
    if (Result.isSuccess(text) && text.success.trim() === "") return Effect.void
    const message = Result.flatMap(text, readMessage)
    return Result.isSuccess(message)
      ? Effect.sync(() => transport.onmessage?.(message.success))
      : Effect.logDebug("output ignored", { server, reason: message.failure })
  }
  yield* Deferred.await(started).pipe(
    Effect.andThen(
      Stream.runForEach(child.stdout, (chunk) => Effect.forEach(split(chunk), read, { discard: true }))
    ),
    Effect.ignore,
    Effect.forkScoped
  )
  yield* child.stderr.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.runForEach((line) =>
      Effect.suspend(() => {
        said.push(line.slice(0, complaints.characters))
        if (said.length > complaints.lines) said.shift()
        return Effect.logDebug("stderr", { server, line })
      })
    ),
    Effect.ignore,
    Effect.forkScoped
  )
  yield* Stream.fromQueue(outgoing).pipe(Stream.run(child.stdin), Effect.ignore, Effect.forkScoped)

  const exited = Effect.map(Effect.exit(child.exitCode), (exit) => {
    const last = said.at(-1)
    const quote = last === undefined ? "" : `: ${last}`
    if (Exit.isFailure(exit)) return `the process was killed${quote}`
    return exit.value === 127
      ? `command "${parameters.command}" not found`
      : `the process ended with code ${exit.value}${quote}`
  })

  // Runs before the child is told to terminate: a server may end by itself when nobody talks to it any more.
  yield* Effect.addFinalizer(() =>
    Effect.andThen(
      Queue.end(outgoing),
      Effect.timeoutOption(Effect.interruptible(Effect.exit(child.exitCode)), patience.input)
    )
  )

  yield* Effect.forkScoped(
    Effect.andThen(
      exited,
      Effect.sync(() => transport.onclose?.())
    )
  )
  return { transport, pid: child.pid, exited }
})
