import {
  Cause,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FiberSet,
  Layer,
  Logger,
  References,
  Scope,
  Stream
} from "effect"
import * as TerminalLog from "../../adapters/log/TerminalLog.ts"
import { checkCancellable } from "./checkArguments.ts"
import { type A2cError, abortedError, closedError, type ExpectedError, toA2cError } from "../A2cError.ts"

/** The last parameter of every method. */
export interface Cancellable {
  /** Cancels the work, remote calls included; the promise rejects with `aborted`. */
  readonly signal?: AbortSignal | undefined
}

/** A resource that runs until it is closed, explicitly or by `await using`. */
export interface Closeable extends AsyncDisposable {
  /** Closes it in order: pending work is cancelled and rejects with `closed`. Idempotent. */
  readonly close: () => Promise<void>
}

/** A service of the layers behind promises. It adds no behaviour: with and without Effect a member is the same. */
export interface RunningService<S> extends Closeable {
  /** Runs an effect of the service. The resources that it acquires are released with the service. */
  readonly run: <A>(
    use: (service: S) => Effect.Effect<A, ExpectedError, Scope.Scope>,
    options?: Cancellable
  ) => Promise<A>
  /** Iterates a stream of the service. Every iteration runs the stream again; all end when the service closes. */
  readonly iterate: <A>(use: (service: S) => Stream.Stream<A>, options?: Cancellable) => AsyncIterable<A>
}

/** A line of the log. */
export interface LogLine {
  readonly level: "Fatal" | "Error" | "Warn" | "Info" | "Debug" | "Trace"
  readonly date: Date
  /** The phrase of the event, and its fields. */
  readonly message: ReadonlyArray<unknown>
  /** The cause of an error, with its stack. */
  readonly cause: string | undefined
}

/** Receives the lines of the log. */
export type Log = (line: LogLine) => void

/** Sends the log to a function; without one, warnings and errors go to stderr. */
const logLayer = (log: Log | undefined): Layer.Layer<never> =>
  log === undefined
    ? Layer.merge(TerminalLog.layer, Layer.succeed(References.MinimumLogLevel, "Warn"))
    : Logger.layer([
        Logger.make<unknown, void>(({ cause, date, logLevel, message }) => {
          if (logLevel === "All" || logLevel === "None") return
          log({
            level: logLevel,
            date,
            message: Array.isArray(message) ? message : [message],
            cause: cause.reasons.length === 0 ? undefined : Cause.pretty(cause)
          })
        })
      ])

const failOnAbort = (signal: AbortSignal): Effect.Effect<never, A2cError> =>
  Effect.callback((resume) => {
    const stop = () => resume(Effect.fail(abortedError(signal)))
    if (signal.aborted) return stop()
    signal.addEventListener("abort", stop, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", stop))
  })

const unwrapExit = <A>(exit: Exit.Exit<A, ExpectedError | A2cError>, signal: AbortSignal | undefined): A => {
  if (Exit.isSuccess(exit)) return exit.value
  throw toA2cError(exit.cause, signal)
}

/** Starts a service. When it fails to start, or is aborted before, all its resources are released. */
export const startService = async <I, S, R>(
  key: Context.Key<I, S>,
  layer: Layer.Layer<I | R, ExpectedError>,
  log: Log | undefined,
  cancellable: Cancellable = {}
): Promise<RunningService<S>> => {
  checkCancellable(cancellable)
  const { signal } = cancellable
  if (signal?.aborted === true) throw abortedError(signal)
  const scope = Scope.makeUnsafe()
  const starting = Effect.gen(function* () {
    const services = yield* Layer.build(Layer.provideMerge(layer, logLayer(log)))
    const context = Context.add(services, Scope.Scope, yield* Scope.fork(scope))
    // Acquired last, released first: fibers stop while the service can still cancel their remote calls.
    const fork = yield* Effect.provideContext(FiberSet.makeRuntime<I | R | Scope.Scope, unknown, unknown>(), context)
    const closeRequested = yield* Deferred.make<void>()
    yield* Effect.addFinalizer(() => Deferred.succeed(closeRequested, undefined))
    return { context, fork, closeRequested }
  }).pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  const { closeRequested, context, fork } = unwrapExit(await Effect.runPromiseExit(starting, { signal }), signal)

  const service = Context.get(context, key)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= Effect.runPromise(Scope.close(scope, Exit.void)))

  return {
    run: async (use, options = {}) => {
      checkCancellable(options)
      if (closing !== undefined) throw closedError()
      if (options.signal?.aborted === true) throw abortedError(options.signal)
      const fiber = fork(use(service), { signal: options.signal })
      return unwrapExit(await Effect.runPromise(Fiber.await(fiber)), options.signal)
    },
    iterate: (use, options = {}) => {
      checkCancellable(options)
      const stream = Stream.suspend(() =>
        closing === undefined
          ? Stream.interruptWhen(use(service), Deferred.await(closeRequested))
          : Stream.fail(closedError())
      )
      return Stream.toAsyncIterableWith(
        options.signal === undefined ? stream : Stream.interruptWhen(stream, failOnAbort(options.signal)),
        context
      )
    },
    close,
    [Symbol.asyncDispose]: close
  }
}
