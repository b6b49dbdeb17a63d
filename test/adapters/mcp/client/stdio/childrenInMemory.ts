import { type Cause, Deferred, Effect, Layer, Queue, Sink, Stream } from "effect"
import { ChildProcessSpawner } from "effect/process"

/** A fake child process. */
export interface Child {
  /** Called at the start; from then on it may write output. */
  readonly started: (write: (bytes: Uint8Array) => void) => void
  /** Receives input; a returned promise applies backpressure. */
  readonly received: (bytes: Uint8Array) => void | Promise<void>
}

const { ExitCode, ProcessId, makeHandle } = ChildProcessSpawner

/** The watcher of a guarded process. */
const watcher: Child = { started: () => undefined, received: () => undefined }

/** Spawns fake processes, found by the last argument. A process exits at the end of its input. */
export const layerOf = (find: (name: string) => Child): Layer.Layer<ChildProcessSpawner.ChildProcessSpawner> =>
  Layer.succeed(
    ChildProcessSpawner.ChildProcessSpawner,
    ChildProcessSpawner.make((command) =>
      Effect.gen(function* () {
        const { args = [], options = {} } = command._tag === "StandardCommand" ? command : {}
        const isWatcher = options.killSignal === "SIGKILL"
        const name = args.at(-1)
        const child = isWatcher ? watcher : find(typeof name === "string" ? name : "")
        const output = yield* Queue.unbounded<Uint8Array, Cause.Done>()
        const ended = yield* Deferred.make<ChildProcessSpawner.ExitCode>()
        const end = Effect.andThen(Queue.end(output), Effect.asVoid(Deferred.succeed(ended, ExitCode(0))))
        yield* Effect.addFinalizer(() => end)
        child.started((bytes) => void Queue.offerUnsafe(output, bytes))
        return makeHandle({
          pid: ProcessId(1),
          exitCode: Deferred.await(ended),
          isRunning: Effect.sync(() => !Deferred.isDoneUnsafe(ended)),
          kill: () => end,
          stdin: isWatcher
            ? Sink.drain
            : Sink.ensuring(
                Sink.forEach((bytes: Uint8Array) => Effect.promise(async () => child.received(bytes))),
                end
              ),
          stdout: Stream.fromQueue(output),
          stderr: Stream.empty,
          all: Stream.empty,
          getInputFd: () => Sink.drain,
          getOutputFd: () => Stream.empty,
          unref: Effect.succeed(Effect.void)
        })
      })
    )
  )
