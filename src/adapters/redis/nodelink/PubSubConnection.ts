import { setTimeout as sleep } from "node:timers/promises"
import { createClient } from "redis"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { countRelayedBytes } from "../../process/gcTuning.ts"
import { needsReconnect, type RedisAddress } from "../redisClient.ts"

/** Interval of keepalive checks, in milliseconds. */
export const tickMillis = 250

/** Checks in a row without a reply after which the connection is closed: a second. */
const maxSilentTicks = 4

const connectTimeoutMillis = 1000
const minBackoffMillis = 50
const maxBackoffMillis = 1000

/** Maximum time to publish the last message, in milliseconds. */
const goodbyeTimeoutMillis = 200

export interface PubSubEvents {
  /** A new connection is subscribed to all channels. */
  readonly onConnected: () => void
  /** The connection is lost, or an attempt has failed. The last published messages may be lost. */
  readonly onDisconnected: (reason: string) => void
  readonly onMessage: (channel: string, message: Buffer) => void
  /** Called every {@link tickMillis}. */
  readonly onTick: () => void
}

const createPubSubClient = ({ isSecure: _, socket, ...options }: RedisAddress) =>
  createClient({
    ...options,
    RESP: 3,
    // Reconnects are made below, since connections without replies are also closed.
    socket: { ...socket, reconnectStrategy: false, connectTimeout: connectTimeoutMillis },
    disableOfflineQueue: true,
    // One check covers all commands; a timer for each command would cost more.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    disableClientInfo: true
  })

type Client = ReturnType<typeof createPubSubClient>

/**
 * Connects to Redis to publish and subscribe, and reconnects. One connection does both: its halves cannot fail
 * separately, and Redis and this process need half the system calls. The timeouts of the client end when a command is
 * sent, and it reconnects only when a socket closes. This connection also detects a stalled Redis and a network that
 * drops all packets.
 */
export const openPubSubConnection = (address: RedisAddress, channels: ReadonlyArray<string>, events: PubSubEvents) => {
  let current: Client | undefined
  let reconnectTimer: NodeJS.Timeout | undefined
  let isReady = false
  let backoffMillis = minBackoffMillis
  let pendingCommands = 0
  let hasReply = false
  let silentTicks = 0

  const onReply = () => {
    pendingCommands--
    hasReply = true
  }

  const onFailure = (client: Client, reason: string) => {
    if (client !== current) return
    current = undefined
    isReady = false
    client.destroy()
    reconnectTimer = setTimeout(connect, backoffMillis * (0.5 + Math.random() / 2))
    backoffMillis = Math.min(maxBackoffMillis, backoffMillis * 2)
    events.onDisconnected(reason)
  }

  const connect = () => {
    const client = createPubSubClient(address)
    current = client
    pendingCommands = 1
    hasReply = false
    silentTicks = 0
    const onError = (error: unknown) => onFailure(client, errorMessage(error))
    client.on("error", onError)
    const onMessage = (message: Buffer, channel: Buffer) => {
      hasReply = true
      if (client === current) events.onMessage(channel.toString(), message)
      countRelayedBytes(message.length)
    }
    const subscribed = client.connect().then(() => client.subscribe([...channels], onMessage, true))
    subscribed.then(() => {
      if (client !== current) return
      onReply()
      isReady = true
      events.onConnected()
    }, onError)
  }

  const ping = (client: Client) => {
    pendingCommands++
    const onPong = () => {
      if (client === current) onReply()
    }
    client.ping().then(onPong, onPong)
  }

  /** Counts checks, not time: after a pause of this process, pending replies are read before the next check. */
  const tick = () => {
    if (current !== undefined) {
      silentTicks = pendingCommands > 0 && !hasReply ? silentTicks + 1 : 0
      hasReply = false
      if (silentTicks >= maxSilentTicks) onFailure(current, "Redis keepalive timeout")
      else if (isReady && pendingCommands === 0) ping(current)
    }
    events.onTick()
  }

  const tickTimer = setInterval(tick, tickMillis)
  connect()

  return {
    /**
     * Publishes a message. `onPublished` receives the number of receivers, or the error of Redis. When the connection is
     * lost before, {@link PubSubEvents.onDisconnected} is called instead.
     */
    publish: (channel: string, message: Buffer, onPublished: (outcome: number | string) => void): void => {
      const client = current
      if (client === undefined || !isReady) return
      pendingCommands++
      client.sendCommand<unknown>(["PUBLISH", channel, message]).then(
        (count) => {
          if (client !== current) return
          onReply()
          backoffMillis = minBackoffMillis
          onPublished(Number(count))
        },
        (error: unknown) => {
          // The loss of the connection is reported by the client's error event.
          if (client !== current || !client.isReady) return
          onReply()
          const reason = errorMessage(error)
          onPublished(reason)
          if (needsReconnect(reason)) onFailure(client, reason)
        }
      )
    },
    /** Replaces the connection; without one, an attempt follows in any case. */
    reconnect: (reason: string): void => {
      if (current !== undefined) onFailure(current, reason)
    },
    close: async (channel: string, goodbye: Buffer): Promise<void> => {
      if (current !== undefined && isReady) {
        const published = current.publish(channel, goodbye).catch(() => 0)
        await Promise.race([published, sleep(goodbyeTimeoutMillis, undefined, { ref: false })])
      }
      clearInterval(tickTimer)
      clearTimeout(reconnectTimer)
      const client = current
      current = undefined
      client?.destroy()
    }
  }
}

export type PubSubConnection = ReturnType<typeof openPubSubConnection>
