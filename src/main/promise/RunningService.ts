import { Context, Deferred, Effect, Exit, Fiber, FiberSet, Layer, Scope, Stream } from "effect"
import { type A2cError, abortedError, closedError, type ExpectedError, toA2cError } from "./A2cError.ts"
import { type Log, logLayer } from "./Log.ts"

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

/** A running service, for programs without Effect. */
export interface RunningService<S> extends Closeable {
  /** Runs an effect of the service. */
  readonly run: <A>(use: (service: S) => Effect.Effect<A, ExpectedError>, options?: Cancellable) => Promise<A>
  /** Iterates a stream of the service. Every iteration runs the stream again; all end when the service closes. */
  readonly iterate: <A>(use: (service: S) => Stream.Stream<A>, options?: Cancellable) => AsyncIterable<A>
}

/** Fails as soon as the signal is aborted. */
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
  { signal }: Cancellable = {}
): Promise<RunningService<S>> => {
  if (signal?.aborted === true) throw abortedError(signal)
  const scope = Scope.makeUnsafe()
  const starting = Effect.gen(function* () {
    const context = yield* Layer.build(Layer.provideMerge(layer, logLayer(log)))
    // Acquired last, released first: fibers stop while the service can still cancel their remote calls.
    const fork = yield* Effect.provideContext(FiberSet.makeRuntime<I | R, unknown, unknown>(), context)
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
      if (closing !== undefined) throw closedError()
      if (options.signal?.aborted === true) throw abortedError(options.signal)
      const fiber = fork(use(service), { signal: options.signal })
      return unwrapExit(await Effect.runPromise(Fiber.await(fiber)), options.signal)
    },
    iterate: (use, options = {}) => {
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
