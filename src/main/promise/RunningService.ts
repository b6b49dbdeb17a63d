import { Context, Deferred, Effect, Exit, Fiber, FiberSet, Layer, Scope, Stream } from "effect"
import { type A2cError, abortedError, closedError, type ExpectedError, toA2cError } from "./A2cError.ts"
import { type Log, logLayer } from "./Log.ts"

/** What every method takes last. */
export interface Cancellable {
  /** Stops the work: what it asked of others is cancelled there, and its promise is rejected with `aborted`. */
  readonly signal?: AbortSignal | undefined
}

/** Something that runs until it is closed, by hand or by `await using`. */
export interface Closeable extends AsyncDisposable {
  /** Ends everything in order: what is under way is cancelled and rejected with `closed`. Twice is fine. */
  readonly close: () => Promise<void>
}

/** A service that runs for a program without Effect. */
export interface RunningService<S> extends Closeable {
  /** Runs one of its effects. */
  readonly run: <A>(use: (service: S) => Effect.Effect<A, ExpectedError>, options?: Cancellable) => Promise<A>
  /** One of its streams; each iteration is a run of its own, and all end when the host is closed. */
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

/** Starts a service; when it cannot start, or is aborted before it has, nothing of it is left. */
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
    // Made last, so closed first: whatever runs is stopped while the service can still cancel it elsewhere.
    const fibers = yield* FiberSet.make()
    const closeRequested = yield* Deferred.make<void>()
    yield* Effect.addFinalizer(() => Deferred.succeed(closeRequested, undefined))
    return { context, fibers, closeRequested }
  }).pipe(
    Scope.provide(scope),
    Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
  )
  const { closeRequested, context, fibers } = unwrapExit(
    await Effect.runPromiseExit(starting, { signal }),
    signal
  )

  const service = Context.get(context, key)
  const fork = Effect.runForkWith(context)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= Effect.runPromise(Scope.close(scope, Exit.void)))

  return {
    run: async (use, options = {}) => {
      if (closing !== undefined) throw closedError()
      if (options.signal?.aborted === true) throw abortedError(options.signal)
      const fiber = fork(use(service), { signal: options.signal })
      FiberSet.addUnsafe(fibers, fiber)
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
