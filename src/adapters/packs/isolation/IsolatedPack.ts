import { type ChildProcess, fork, spawn, type StdioOptions } from "node:child_process"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { Deferred, Effect, FiberSet, Match, Option, type Scope } from "effect"
import type { McpCallOptions, McpProgress } from "../../../application/ports/McpSession.ts"
import { askResponder } from "../../../application/shared/questions/askUntilValid.ts"
import {
  type LoadedPack,
  type PackCall,
  PackError,
  type PackSource
} from "../../../application/ports/packs/PackLoader.ts"
import { asObject, type JsonObject } from "../../../domain/json.ts"
import type { InputRequest } from "../../../domain/model/InputRequest.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { PackManifest } from "../../../domain/packs/PackManifest.ts"
import { fileParamsOf } from "../../../domain/schemas/jsonSchema.ts"
import { makeToolLog, type ToolLogLine } from "../../tools/toolLogger.ts"
import { decodeDeclaration } from "../loading/PackDeclaration.ts"
import { withProgress } from "../../tools/withProgress.ts"
import { toParams, writeEmbeddedFiles } from "../execution/toolFiles.ts"
import type { ChildMessage, ParentMessage } from "./child.ts"

type Log = (line: ToolLogLine) => void

type ChildReport = Exclude<ChildMessage, { readonly type: "ack" | "disposed" }>

const ackTimeout = "1 second"

/** The 5 seconds of `dispose`, plus a margin. */
const shutdownTimeout = "6 seconds"

/** In characters. */
const maxLineLength = 16_384

/** TypeScript in the sources, JavaScript in the build. */
const childScript = fileURLToPath(new URL(`./child${import.meta.url.slice(-3)}`, import.meta.url))

/** The program that runs a Python pack, and the folder of what packs import of their host. */
const pythonScript = fileURLToPath(new URL("../python/runner/pack_runner.py", import.meta.url))

/** The exit code of a Python pack without memory. */
const outOfMemoryCode = 77

/** Starts the process of a pack with a channel for messages. It is the leader of its group, which can be killed as a whole. */
const startProcess = ({ interpreter, language, memory }: PackSource): ChildProcess => {
  const stdio: StdioOptions = ["ignore", "pipe", "pipe", "ipc"]
  if (language === "python") {
    // Without caches of compiled code in the folders of the pack and of this package.
    const args = ["-B", "-u", "-X", "utf8", pythonScript]
    return spawn(interpreter ?? "python3", args, { serialization: "json", stdio, detached: true })
  }
  // Flags of the host do not apply to packs.
  const execArgv = [`--max-old-space-size=${memory}`]
  return fork(childScript, [], { execArgv, serialization: "advanced", stdio, detached: true })
}

const exitReason = (code: number | null, signal: string | null, memory: number): string => {
  if (code === outOfMemoryCode) return `its process used more than ${memory} MiB of memory`
  // Node aborts when its heap is full.
  if (signal === "SIGABRT")
    return `its process was aborted, most likely because it used more than ${memory} MiB of memory`
  return signal === null ? `its process exited with code ${code}` : `its process was killed by ${signal}`
}

/** Logs the output of the process: the host's stdout can carry MCP. */
const forwardOutput = (output: Readable | null, level: ToolLogLine["level"], log: Log) =>
  output?.setEncoding("utf8").on("data", (text: string) => {
    for (const line of text.split("\n")) {
      if (line.trim() !== "") log({ level, message: line.slice(0, maxLineLength), fields: {} })
    }
  })

const killProcessGroup = ({ pid }: ChildProcess): Effect.Effect<void> =>
  // Throws when the process has exited.
  Effect.ignore(Effect.try(() => pid !== undefined && process.kill(-pid, "SIGKILL")))

/** Starts the process of a pack; the scope asks it to dispose, then kills it. */
const spawnPackProcess = Effect.fnUntraced(function* (
  source: PackSource,
  log: Log,
  onMessage: (report: ChildReport) => void
) {
  /** Why the process has exited. */
  const exited = yield* Deferred.make<string>()
  const disposed = yield* Deferred.make<void>()
  /** Messages without an acknowledgement, oldest first. */
  const pendingAcks: Array<Deferred.Deferred<void>> = []
  let isClosing = false
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => startProcess(source)),
    (started) => Effect.andThen(killProcessGroup(started), Deferred.await(exited))
  )
  const setExited = (reason: string) =>
    Deferred.doneUnsafe(exited, Effect.succeed(isClosing ? "it was unloaded" : reason))
  child.on("message", (report: ChildMessage) => {
    if (report.type !== "ack" && report.type !== "disposed") return onMessage(report)
    const done = report.type === "ack" ? pendingAcks.shift() : disposed
    if (done !== undefined) Deferred.doneUnsafe(done, Effect.void)
  })
  child.on("error", ({ message }) => setExited(`its process cannot be started: ${message}`))
  child.on("exit", (code, signal) => setExited(exitReason(code, signal, source.memory)))
  forwardOutput(child.stdout, "Info", log)
  forwardOutput(child.stderr, "Warn", log)

  /** Sends a message; does nothing after an exit, which has its own event. */
  const send = (order: ParentMessage): void => void child.send(order, () => undefined)
  const untilExit = (done: Deferred.Deferred<void>) => Effect.raceFirst(Deferred.await(done), Deferred.await(exited))

  /** Sends a message that the process must acknowledge within a second; otherwise it is blocked and gets killed. */
  const sendAcknowledged = Effect.fnUntraced(function* (order: ParentMessage) {
    const acknowledged = yield* Deferred.make<void>()
    pendingAcks.push(acknowledged)
    send(order)
    if (Option.isSome(yield* Effect.timeoutOption(untilExit(acknowledged), ackTimeout))) return
    setExited("its process was unresponsive for a second and was killed")
    yield* killProcessGroup(child)
  })

  send({ type: "start", source })
  // Runs before the finalizer that kills the process.
  yield* Effect.addFinalizer(() => {
    isClosing = true
    return sendAcknowledged({ type: "dispose" }).pipe(
      Effect.andThen(untilExit(disposed)),
      Effect.timeoutOption(shutdownTimeout),
      Effect.interruptible
    )
  })
  return { exited: Deferred.await(exited), send, sendAcknowledged }
})

/** A text about a declaration in the names of the seed. */
const withPythonNames = (text: string): string =>
  text
    .replaceAll("'params'", "'params_class'")
    .replaceAll(/getRouteConfig(?=\(\))|listTools(?=\(\))|(?<=')(?:toolName|useForm)(?=')/g, (name) =>
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    )

/** The manifest of a Python pack, from what its process declares. The process validates the parameters. */
const toPythonManifest = (source: PackSource, routes: unknown, tools: unknown) =>
  decodeDeclaration(source, routes, tools, () => () => []).pipe(
    Effect.map(({ manifest: { warnings, ...rest } }) => ({ ...rest, warnings: warnings.map(withPythonNames) })),
    Effect.mapError(({ message, reason }) => new PackError({ reason, message: withPythonNames(message) }))
  )

/** Makes the function that prepares a call for the process: embedded files are on disk, as uploads are. */
const makePreparation = ({ language }: PackSource, { routes, tools }: PackManifest) =>
  // Files are written by the parent: a killed process does not remove its files.
  Effect.fnUntraced(function* (request: PackCall) {
    const listed = tools.find(({ name }) => name === request.tool)?.["inputSchema"]
    const schema = routes.find(({ tool }) => tool === request.tool)?.params ?? asObject(listed)
    const files = fileParamsOf(schema)
    const placed = yield* writeEmbeddedFiles(files, request)
    if (language === "node") return placed
    // The child in Node does the same itself.
    const params = yield* toParams(schema, files, placed)
    return { ...placed, params, multiple: Object.keys(files).filter((name) => files[name]?.multiple === true) }
  })

interface PendingCall {
  readonly result: Deferred.Deferred<JsonObject, PackError>
  readonly onProgress: (progress: McpProgress) => void
  readonly onQuestion: (question: number, request: InputRequest) => void
}

/**
 * Loads a pack in a separate process until the scope closes. The process dies when it does not acknowledge a cancelled
 * call, exceeds its memory, or calls `process.exit`; the host continues.
 */
export const loadIsolated = Effect.fnUntraced(function* (
  source: PackSource
): Effect.fn.Return<LoadedPack, PackError, Scope.Scope> {
  const scope = yield* Effect.scope
  const log = yield* makeToolLog({ pack: source.name })
  const ready = yield* Deferred.make<PackManifest, PackError>()
  const pendingCalls = new Map<number, PendingCall>()
  let lastId = 0

  const setReady = (manifest: Effect.Effect<PackManifest, PackError>) => Deferred.doneUnsafe(ready, manifest)
  const complete = (id: number, outcome: Effect.Effect<JsonObject, PackError>) => {
    const pending = pendingCalls.get(id)
    return pending !== undefined && Deferred.doneUnsafe(pending.result, outcome)
  }
  const onMessage = Match.type<ChildReport>().pipe(
    Match.discriminatorsExhaustive("type")({
      ready: ({ manifest }) => setReady(Effect.succeed(manifest)),
      declared: ({ routes, tools }) => setReady(toPythonManifest(source, routes, tools)),
      unusable: ({ message }) => setReady(Effect.fail(new PackError({ reason: "unusable", message }))),
      log: ({ line }) => log(line),
      progress: ({ id, progress }) => pendingCalls.get(id)?.onProgress(progress),
      ask: ({ id, question, request }) => pendingCalls.get(id)?.onQuestion(question, request),
      result: ({ id, result }) => complete(id, Effect.succeed(result)),
      error: ({ failure, id }) => complete(id, Effect.fail(new PackError(failure)))
    })
  )
  const child = yield* spawnPackProcess(source, log, onMessage)
  /** Waits for a message; fails when the process exits before it. */
  const awaitReply = <A>(reply: Deferred.Deferred<A, PackError>, reason: "unusable" | "crashed") =>
    Effect.raceFirst(
      Deferred.await(reply),
      Effect.flatMap(child.exited, (message) => new PackError({ reason, message }))
    )

  const runCall = Effect.fnUntraced(function* (
    call: PackCall,
    { onProgress = () => Effect.void, requester, responder }: McpCallOptions
  ) {
    const id = ++lastId
    const result = yield* Deferred.make<JsonObject, PackError>()
    const run = yield* FiberSet.makeRuntime<never>()
    const onQuestion = (question: number, request: InputRequest) =>
      run(Effect.map(askResponder(responder, request), (answer) => child.send({ type: "answer", question, answer })))
    return yield* withProgress(onProgress, (report) => {
      pendingCalls.set(id, { result, onProgress: report, onQuestion })
      child.send({ type: "call", id, call, ...definedOnly({ modes: responder?.modes, requester }) })
      return awaitReply(result, "crashed").pipe(
        // The acknowledgement arrives in the background.
        Effect.onInterrupt(() => Effect.forkIn(child.sendAcknowledged({ type: "abort", id }), scope)),
        Effect.ensuring(Effect.sync(() => pendingCalls.delete(id)))
      )
    })
  })

  const manifest = yield* awaitReply(ready, "unusable")
  const prepare = makePreparation(source, manifest)
  return {
    manifest,
    call: (request, options = {}) =>
      Effect.scoped(Effect.flatMap(prepare(request), (prepared) => runCall(prepared, options))),
    exited: child.exited
  }
})
