import { createClient } from "redis"
import { messageRead } from "../node/relayMemory.ts"

/** How often a connection is looked after, in milliseconds. */
export const pulse = 250

/** Looks in a row at which Redis had not answered anything until it counts as gone: a second. */
const mostSilentPulses = 4

/** How long opening a connection may take, and what lies between two attempts, in milliseconds. */
const openingTime = 1000
const firstPause = 50
const longestPause = 1000

/** How long a farewell may take, in milliseconds. */
const farewellTime = 200

/** What the owner of a connection hears. */
export interface ConnectionEvents {
  /** There is a new connection, subscribed to everything. */
  readonly up: () => void
  /** It is gone, or an attempt to open one has failed: why. What was published last may not have arrived. */
  readonly down: (reason: string) => void
  readonly message: (channel: string, message: Buffer) => void
  /** Another {@link pulse} has passed. */
  readonly pulse: () => void
}

const open = (url: string) =>
  createClient({
    url,
    RESP: 3,
    // We decide about reconnecting, since a connection that is silent counts as gone, too.
    socket: { reconnectStrategy: false, connectTimeout: openingTime },
    disableOfflineQueue: true,
    // Not a timer for every command: all of them are looked after together.
    commandOptions: { timeout: 0 },
    maintNotifications: "disabled",
    disableClientInfo: true
  })

type Client = ReturnType<typeof open>

const reasonOf = (error: unknown): string =>
  error instanceof AggregateError
    ? error.errors.map(reasonOf).join(", ")
    : error instanceof Error
      ? error.message
      : String(error)

/** Is this an address that {@link RedisConnection} can connect to? */
export const isRedisUrl = (url: string): boolean =>
  URL.canParse(url) && ["redis:", "rediss:"].includes(new URL(url).protocol)

/**
 * One connection to Redis that publishes and is subscribed, and comes back by itself. It is one so that its two halves
 * cannot be gone one by one, and because it costs Redis and us half the system calls. The client's own timeouts end
 * with the sending of a command and its own reconnecting only begins with the close of a socket; a Redis that is
 * stopped, or behind a network that swallows everything, is noticed here.
 */
export class RedisConnection {
  readonly #url: string
  readonly #channels: ReadonlyArray<string>
  readonly #events: ConnectionEvents
  readonly #timer: NodeJS.Timeout
  #client: Client | undefined
  #retry: NodeJS.Timeout | undefined
  #ready = false
  #closed = false
  #pause = firstPause
  /** Commands without an answer, whether one has come since the last look, and looks without one. */
  #open = 0
  #answered = false
  #silent = 0

  constructor(url: string, channels: ReadonlyArray<string>, events: ConnectionEvents) {
    this.#url = url
    this.#channels = channels
    this.#events = events
    this.#timer = setInterval(() => this.#look(), pulse)
    this.#connect()
  }

  get isReady(): boolean {
    return this.#ready
  }

  /**
   * Publishes a message; `done` hears how many have got it, and nothing when the connection is lost before: then
   * {@link ConnectionEvents.down} is heard. A refusal of Redis is heard as its reason.
   */
  publish(channel: string, message: Buffer, done: (outcome: number | string) => void): void {
    const client = this.#client
    if (client === undefined || !this.#ready) return
    this.#open++
    client.sendCommand<unknown>(["PUBLISH", channel, message]).then(
      (count) => {
        if (client !== this.#client) return
        this.#hear()
        done(Number(count))
      },
      (error: unknown) => {
        // When the connection is gone, that is heard as an event.
        if (client !== this.#client || !client.isReady) return
        this.#hear()
        done(reasonOf(error))
      }
    )
  }

  /** Says a last word, then closes for good. */
  async close(channel: string, farewell: Buffer): Promise<void> {
    const client = this.#client
    if (this.#ready && client !== undefined) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, farewellTime)))
      await Promise.race([client.publish(channel, farewell).then(undefined, () => 0), patience])
      clearTimeout(timer)
    }
    this.#closed = true
    this.#ready = false
    clearInterval(this.#timer)
    clearTimeout(this.#retry)
    this.#client = undefined
    if (client !== undefined) end(client)
  }

  #hear(): void {
    this.#open--
    this.#answered = true
  }

  #connect(): void {
    if (this.#closed) return
    const client = open(this.#url)
    this.#client = client
    this.#open = 1
    this.#answered = false
    this.#silent = 0
    client.on("error", (error: unknown) => this.#fail(client, reasonOf(error)))
    const listen = (message: Buffer, channel: Buffer) => {
      this.#answered = true
      if (client === this.#client) this.#events.message(channel.toString(), message)
      messageRead(message.length)
    }
    client
      .connect()
      .then(() => client.subscribe([...this.#channels], listen, true))
      .then(
        () => {
          if (client !== this.#client) return
          this.#hear()
          this.#ready = true
          this.#pause = firstPause
          this.#events.up()
        },
        (error: unknown) => this.#fail(client, reasonOf(error))
      )
  }

  #fail(client: Client, reason: string): void {
    if (client !== this.#client || this.#closed) return
    this.#client = undefined
    this.#ready = false
    end(client)
    this.#retry = setTimeout(() => this.#connect(), this.#pause * (0.5 + Math.random() / 2))
    this.#pause = Math.min(longestPause, this.#pause * 2)
    this.#events.down(reason)
  }

  /**
   * Counts looks, not time: whoever was stopped itself, or busy for long, finds the answers that have come meanwhile
   * before it looks again.
   */
  #look(): void {
    const client = this.#client
    if (client !== undefined) {
      this.#silent = this.#open > 0 && !this.#answered ? this.#silent + 1 : 0
      this.#answered = false
      if (this.#silent >= mostSilentPulses) this.#fail(client, "Redis does not answer")
      else if (this.#ready && this.#open === 0) this.#ping(client)
    }
    this.#events.pulse()
  }

  #ping(client: Client): void {
    this.#open++
    const heard = () => {
      if (client === this.#client) this.#hear()
    }
    client.ping().then(heard, heard)
  }
}

/** Ends a client at once. That it has ended already is all the same. */
const end = (client: Client): void => {
  try {
    client.destroy()
  } catch {
    // it has never been connected, or is closed: nothing is left to end
  }
}
