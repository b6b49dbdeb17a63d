import { Data, Duration, Effect, FiberSet, Record, Schedule } from "effect"
import { type CommandParser, createClient, defineScript, ErrorReply } from "redis"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { makeOutageLog, parseRedisUrl, type RedisAddress, type RedisNodeOptions } from "../redisClient.ts"
import { type ScriptName, luaScripts } from "./luaScripts.ts"

/** Redis is unreachable, timed out or returned an error. Whether the script ran is unknown. */
export class RedisUnavailable extends Data.TaggedError("RedisUnavailable")<{ readonly message: string }> {}

interface ScriptRunnerOptions extends RedisNodeOptions {
  /** Both are connected, for the first time or again. Messages in between are lost. */
  readonly onReady: () => void
  readonly onMessage: (text: string) => void
}

/** Default timeout of a script, which takes less than a millisecond. */
export const scriptTimeout = Duration.seconds(1)

/** Keepalive timeout and ping interval of both connections, in milliseconds. */
const socketTimeoutMillis = 5000
const pingInterval = 1000

/**
 * Checks in a row without a script reply after which the connection is closed. The socket timeout of the client does not
 * suffice: each write resets it.
 */
const maxSilentChecks = socketTimeoutMillis / pingInterval

/** Milliseconds between attempts: short, since members wait, and with jitter, since all nodes reconnect at once. */
const maxBackoffMillis = 250
const backoffBefore = (attempt: number): number =>
  Math.min(25 * 2 ** Math.min(attempt, 10), maxBackoffMillis) * (0.75 + Math.random() / 2)

/** The client calls a script by its hash, and sends its text when Redis does not know the hash. */
const scripts = Record.map(luaScripts, (text) =>
  defineScript({
    SCRIPT: text,
    NUMBER_OF_KEYS: 1,
    parseCommand: (parser: CommandParser, prefix: string, args: ReadonlyArray<string>) => {
      parser.pushKey(prefix)
      parser.push(...args)
    },
    transformReply: (reply: unknown) => reply
  })
)

type ClientOptions = Omit<RedisAddress, "isSecure">

interface ConnectionEvents {
  readonly onError: (cause: unknown, command?: string) => void
  readonly onPing: () => void
  readonly onReady: () => void
  readonly onMessage: (text: string) => void
}

/** Opens two connections: one runs scripts and one is subscribed to a channel. Closed ones report nothing. */
const openConnections = ({ socket, ...options }: ClientOptions, channel: string, events: ConnectionEvents) => {
  const shared = {
    ...options,
    pingInterval,
    commandOptions: { timeout: 0 },
    socket: { ...socket, reconnectStrategy: backoffBefore, connectTimeout: 1000, socketTimeout: socketTimeoutMillis }
  }
  // Without a connection scripts fail at once, so joins do not wait.
  const commands = createClient({ ...shared, scripts, disableOfflineQueue: true })
  const subscriber = createClient(shared)
  let subscribed = false
  let isOpen = true
  const isReady = (): boolean => commands.isReady && subscriber.isReady && subscribed
  const ifOpen =
    <A>(listener: (value: A) => void) =>
    (value: A) => {
      if (isOpen) listener(value)
    }
  // The client reports a rejected ping as an error of the connection.
  const onConnectionError = ifOpen((cause: unknown) =>
    events.onError(cause, cause instanceof ErrorReply && isReady() ? "PING" : undefined)
  )
  const onReadyChange = ifOpen(() => {
    if (isReady()) events.onReady()
  })
  // Loads the scripts before any other command of a new connection: that keeps their calls in order.
  commands.on("ready", () => {
    for (const text of Object.values(luaScripts)) commands.scriptLoad(text).catch(onConnectionError)
  })
  for (const client of [commands, subscriber]) {
    client.on("error", onConnectionError)
    client.on("ping-interval", events.onPing)
    client.on("ready", onReadyChange)
    client.connect().catch(onConnectionError)
  }
  const onMessage = ifOpen(events.onMessage)
  const onSubscribed = () => {
    subscribed = true
    onReadyChange(undefined)
  }
  // The client repeats a subscription after a lost connection, but not after an error reply.
  const onRejected = ifOpen((cause: unknown) => {
    events.onError(cause)
    setTimeout(ifOpen(subscribe), maxBackoffMillis).unref()
  })
  const subscribe = () => {
    subscriber.subscribe(channel, onMessage).then(onSubscribed, onRejected)
  }
  subscribe()
  const close = () => {
    isOpen = false
    commands.destroy()
    subscriber.destroy()
  }
  return { commands, isReady, close }
}

/** Connects to Redis until the scope closes. Redis may be unreachable at the start. Both connections reconnect. */
export const makeScriptRunner = Effect.fnUntraced(function* (options: ScriptRunnerOptions) {
  const { node, onMessage, onReady, prefix } = options
  const outage = makeOutageLog(node, yield* FiberSet.makeRuntime<never>())
  const { isSecure: _, ...clientOptions } = yield* parseRedisUrl(options.url)
  let lastError = "not connected"
  let pendingScripts = 0
  let hasReply = false
  let silentChecks = 0

  const onError = (cause: unknown, command?: string) => {
    lastError = errorMessage(cause)
    outage.onFailure(lastError, command)
  }

  const open = () =>
    openConnections(clientOptions, `${prefix}to:${node}`, {
      onError,
      onMessage,
      onPing: () => outage.onAccepted("PING"),
      onReady: () => {
        lastError = "not connected"
        onReady()
      }
    })
  let current = open()
  yield* Effect.addFinalizer(() => Effect.sync(() => current.close()))

  /** Replaces both connections. */
  const reconnect = () => {
    const last = current
    current = open()
    last.close()
  }

  /** True while both are connected. */
  const isReady = (): boolean => current.isReady()

  const evaluate = async (name: ScriptName, args: ReadonlyArray<string>): Promise<unknown> => {
    pendingScripts++
    try {
      const reply = await current.commands[name](prefix, args)
      hasReply = true
      outage.onAccepted(name)
      return reply
    } catch (cause) {
      if (cause instanceof ErrorReply) {
        hasReply = true
        onError(cause, name)
      }
      throw cause
    } finally {
      pendingScripts--
    }
  }

  /** Counts checks, not time: after a pause of this process, pending replies are read before the next check. */
  const checkLiveness = Effect.sync(() => {
    silentChecks = pendingScripts > 0 && !hasReply ? silentChecks + 1 : 0
    hasReply = false
    if (silentChecks < maxSilentChecks) return
    silentChecks = 0
    onError("Redis script timeout")
    reconnect()
  })
  yield* Effect.forkScoped(Effect.repeat(checkLiveness, Schedule.spaced(pingInterval)))

  /** Runs a script on the keys with the prefix. Scripts run in the order of their calls. */
  const run = (name: ScriptName, args: ReadonlyArray<string>, timeout = scriptTimeout) =>
    Effect.suspend(() =>
      isReady()
        ? Effect.tryPromise({
            try: () => evaluate(name, args),
            catch: (cause) => new RedisUnavailable({ message: errorMessage(cause) })
          })
        : Effect.fail(new RedisUnavailable({ message: lastError }))
    ).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.fail(new RedisUnavailable({ message: `timed out after ${Duration.toMillis(timeout)} ms` }))
      })
    )

  return { isReady, onRecovered: outage.onRecovered, reconnect, run }
})

export type ScriptRunner = Effect.Success<ReturnType<typeof makeScriptRunner>>
