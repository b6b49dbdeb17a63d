import { createClient } from "redis"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { countRelayedBytes } from "../../process/gcTuning.ts"

/** How often a connection is looked after, in milliseconds. */
export const tickMillis = 250

/** Looks in a row at which Redis had not answered anything until it counts as gone: a second. */
const maxSilentTicks = 4

/** How long opening a connection may take, and what lies between two attempts, in milliseconds. */
const connectTimeoutMillis = 1000
const minBackoffMillis = 50
const maxBackoffMillis = 1000

/** How long a farewell may take, in milliseconds. */
const goodbyeTimeoutMillis = 200

/** What the owner of a connection hears. */
export interface PubSubEvents {
  /** There is a new connection, subscribed to everything. */
  readonly onConnected: () => void
  /** It is gone, or an attempt to open one has failed: why. What was published last may not have arrived. */
  readonly onDisconnected: (reason: string) => void
  readonly onMessage: (channel: string, message: Buffer) => void
  /** Another {@link tickMillis} has passed. */
  readonly onTick: () => void
}

const createPubSubClient = (url: string) =>
  createClient({
    url,
    RESP: 3,
    // We decide about reconnecting, since a connection that is silent counts as gone, too.
    socket: { reconnectStrategy: false, connectTimeout: connectTimeoutMillis },
    disableOfflineQueue: true,
    // Not a timer for every command: all of them are looked after together.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    disableClientInfo: true
  })

type Client = ReturnType<typeof createPubSubClient>

/**
 * One connection to Redis that publishes and is subscribed, and comes back by itself. It is one so that its two halves
 * cannot be gone one by one, and because it costs Redis and us half the system calls. The client's own timeouts end
 * with the sending of a command and its own reconnecting only begins with the close of a socket; a Redis that is
 * stopped, or behind a network that swallows everything, is noticed here.
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
  /** Commands without an answer, whether one has come since the last look, and looks without one. */
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
   * Publishes a message; `done` hears how many have got it, and nothing when the connection is lost before: then
   * {@link PubSubEvents.onDisconnected} is heard. A refusal of Redis is heard as its reason.
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
        // When the connection is gone, that is heard as an event.
        if (client !== this.#client || !client.isReady) return
        this.#onReply()
        onPublished(errorMessage(error))
      }
    )
  }

  /** Says a last word, then closes for good. */
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
    if (client !== undefined) destroyClient(client)
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
    destroyClient(client)
    this.#reconnectTimer = setTimeout(() => this.#connect(), this.#backoffMillis * (0.5 + Math.random() / 2))
    this.#backoffMillis = Math.min(maxBackoffMillis, this.#backoffMillis * 2)
    this.#events.onDisconnected(reason)
  }

  /**
   * Counts looks, not time: whoever was stopped itself, or busy for long, finds the answers that have come meanwhile
   * before it looks again.
   */
  #tick(): void {
    const client = this.#client
    if (client !== undefined) {
      this.#silentTicks = this.#pendingCommands > 0 && !this.#hasReply ? this.#silentTicks + 1 : 0
      this.#hasReply = false
      if (this.#silentTicks >= maxSilentTicks) this.#onFailure(client, "Redis does not answer")
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

/** Ends a client at once. That it has ended already is all the same. */
const destroyClient = (client: Client): void => {
  try {
    client.destroy()
  } catch {
    // it has never been connected, or is closed: nothing is left to end
  }
}
