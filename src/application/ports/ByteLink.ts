import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import type { ListenError, Unreachable } from "./Transport.ts"

/** The link was closed by either end, or lost. Bytes may or may not have arrived. */
export class ByteLinkClosed extends Data.TaggedError("ByteLinkClosed")<{ readonly reason: string }> {
  override get message(): string {
    return `Connection closed: ${this.reason}`
  }
}

/** One end of a byte stream connection. */
export interface ByteLink {
  /** The address of the far end without its port, for the log and for rate limits. */
  readonly remoteAddress: string
  /**
   * The received bytes in chunks of any size. The link reads only as fast as the stream is pulled, which gives
   * backpressure. Ends when the far end has finished, or the link is closed. Can run once; chunks are never modified.
   */
  readonly bytes: Stream.Stream<Uint8Array>
  /**
   * Queues bytes, all of them or none, and succeeds when the link is writable again. Interruption ends the wait, not the
   * sending. Bytes leave in the order of the calls.
   */
  readonly send: (bytes: Uint8Array) => Effect.Effect<void, ByteLinkClosed>
  /** Bytes that the network has not taken yet, and bytes that it has taken. */
  readonly unsentBytes: () => number
  readonly sentBytes: () => number
  /** Resolves with the reason when the link closes. */
  readonly closed: Effect.Effect<string>
}

export interface ByteListenOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** Links beyond this number are closed as soon as they open. */
  readonly maxConnections: number
}

/** Accepts byte links. */
export class ByteListener extends Context.Service<
  ByteListener,
  {
    /**
     * Accepts links until the scope closes, which closes them all. Serves each link in its own fiber, which only the
     * end of the scope interrupts. When `serve` ends, the link closes after its queued bytes are sent.
     */
    readonly listen: (
      options: ByteListenOptions,
      serve: (link: ByteLink) => Effect.Effect<void>
    ) => Effect.Effect<{ readonly host: string; readonly port: number }, ListenError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/ByteListener") {}

/** Opens byte links. */
export class ByteConnector extends Context.Service<
  ByteConnector,
  {
    /** Opens a link as long as the scope. It closes after its queued bytes are sent. */
    readonly connect: (to: {
      readonly host: string
      readonly port: number
    }) => Effect.Effect<ByteLink, Unreachable, Scope.Scope>
  }
>()("a2c-smcp/application/ports/ByteConnector") {}
