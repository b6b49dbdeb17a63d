import { createClient } from "redis"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { countRelayedBytes } from "../../process/gcTuning.ts"

/** Interval of keepalive checks, in milliseconds. */
export const tickMillis = 250

/** Checks in a row without a reply after which the connection is closed: a second. */
const maxSilentTicks = 4

/** In milliseconds. */
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

const createPubSubClient = (url: string) =>
  createClient({
    url,
    RESP: 3,
    // This class reconnects by itself, since it also closes connections without replies.
    socket: { reconnectStrategy: false, connectTimeout: connectTimeoutMillis },
    disableOfflineQueue: true,
    // One check covers all commands; a timer for each command would cost more.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    disableClientInfo: true
  })

type Client = ReturnType<typeof createPubSubClient>

/**
 * A connection to Redis that publishes, subscribes and reconnects. One connection does both: its halves cannot fail
 * separately, and Redis and this process need half the system calls. The timeouts of the client end when a command is
 * sent, and it reconnects only when a socket closes. This class also detects a stalled Redis and a network that drops
 * all packets.
 */
export class PubSubConnection {
  readonly #url: string
  readonly #channels: ReadonlyArray<string>
  readonly #events: PubSubEvents
  readonly #tickTimer: NodeJS.Timeout
  #client: Client | undefined
  #reconnectTimer: NodeJS.Timeout | undefined
  #isReady = false
  #isClosed = false
  #backoffMillis = minBackoffMillis
  #pendingCommands = 0
  #hasReply = false
  #silentTicks = 0

  constructor(url: string, channels: ReadonlyArray<string>, events: PubSubEvents) {
    this.#url = url
    this.#channels = channels
    this.#events = events
    this.#tickTimer = setInterval(() => this.#tick(), tickMillis)
    this.#connect()
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /**
   * Publishes a message. `onPublished` receives the number of receivers, or the error of Redis. When the connection is
   * lost before, {@link PubSubEvents.onDisconnected} is called instead.
   */
  publish(channel: string, message: Buffer, onPublished: (outcome: number | string) => void): void {
    const client = this.#client
    if (client === undefined || !this.#isReady) return
    this.#pendingCommands++
    client.sendCommand<unknown>(["PUBLISH", channel, message]).then(
      (count) => {
        if (client !== this.#client) return
        this.#onReply()
        onPublished(Number(count))
      },
      (error: unknown) => {
        // The loss of the connection is reported by the client's error event.
        if (client !== this.#client || !client.isReady) return
        this.#onReply()
        onPublished(errorMessage(error))
      }
    )
  }

  async close(channel: string, goodbye: Buffer): Promise<void> {
    const client = this.#client
    if (this.#isReady && client !== undefined) {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, goodbyeTimeoutMillis)))
      await Promise.race([client.publish(channel, goodbye).then(undefined, () => 0), timeout])
      clearTimeout(timer)
    }
    this.#isClosed = true
    this.#isReady = false
    clearInterval(this.#tickTimer)
    clearTimeout(this.#reconnectTimer)
    this.#client = undefined
    client?.destroy()
  }

  #onReply(): void {
    this.#pendingCommands--
    this.#hasReply = true
  }

  #connect(): void {
    if (this.#isClosed) return
    const client = createPubSubClient(this.#url)
    this.#client = client
    this.#pendingCommands = 1
    this.#hasReply = false
    this.#silentTicks = 0
    client.on("error", (error: unknown) => this.#onFailure(client, errorMessage(error)))
    const onMessage = (message: Buffer, channel: Buffer) => {
      this.#hasReply = true
      if (client === this.#client) this.#events.onMessage(channel.toString(), message)
      countRelayedBytes(message.length)
    }
    client
      .connect()
      .then(() => client.subscribe([...this.#channels], onMessage, true))
      .then(
        () => {
          if (client !== this.#client) return
          this.#onReply()
          this.#isReady = true
          this.#backoffMillis = minBackoffMillis
          this.#events.onConnected()
        },
        (error: unknown) => this.#onFailure(client, errorMessage(error))
      )
  }

  #onFailure(client: Client, reason: string): void {
    if (client !== this.#client || this.#isClosed) return
    this.#client = undefined
    this.#isReady = false
    client.destroy()
    this.#reconnectTimer = setTimeout(() => this.#connect(), this.#backoffMillis * (0.5 + Math.random() / 2))
    this.#backoffMillis = Math.min(maxBackoffMillis, this.#backoffMillis * 2)
    this.#events.onDisconnected(reason)
  }

  /** Counts checks, not time: after a pause of this process, pending replies are read before the next check. */
  #tick(): void {
    const client = this.#client
    if (client !== undefined) {
      this.#silentTicks = this.#pendingCommands > 0 && !this.#hasReply ? this.#silentTicks + 1 : 0
      this.#hasReply = false
      if (this.#silentTicks >= maxSilentTicks) this.#onFailure(client, "Redis keepalive timeout")
      else if (this.#isReady && this.#pendingCommands === 0) this.#ping(client)
    }
    this.#events.onTick()
  }

  #ping(client: Client): void {
    this.#pendingCommands++
    const onReply = () => {
      if (client === this.#client) this.#onReply()
    }
    client.ping().then(onReply, onReply)
  }
}
