import { Context, Data, type Effect, type Scope, type Stream } from "effect"
import type { ListenError, Unreachable } from "./Transport.ts"

/** The link is gone: closed by either end, or lost. Nothing can be said whether all bytes arrived. */
export class ByteLinkClosed extends Data.TaggedError("ByteLinkClosed")<{ readonly reason: string }> {
  override get message(): string {
    return `Connection closed: ${this.reason}`
  }
}

/** One end of a connection that carries bytes, in order and without borders. */
export interface ByteLink {
  /** The address of the far end without its port: for the log, and for counting who comes how often. */
  readonly remoteAddress: string
  /**
   * The bytes of the far end, in whatever pieces they come. They are taken as fast as they are pulled and no faster, so
   * that whoever floods has to wait. Ends when the far end sends no more, or the link is gone. Runs once; pieces are
   * never written to again.
   */
  readonly bytes: Stream.Stream<Uint8Array>
  /**
   * Hands bytes on, all of them or none. Succeeds when the far end takes them fast enough for more. Interrupting it
   * stops the waiting, not the bytes. Bytes of one link leave in the order in which they were given.
   */
  readonly send: (bytes: Uint8Array) => Effect.Effect<void, ByteLinkClosed>
  /** Waits until the link is gone and says why. */
  readonly closed: Effect.Effect<string>
}

/** Where to listen, and how many may come. */
export interface ByteListenOptions {
  readonly host: string
  /** 0 picks a free port. */
  readonly port: number
  /** How many links there may be at once; more are closed as soon as they open. */
  readonly maxConnections: number
}

/** Takes connections of others. */
export class ByteListener extends Context.Service<
  ByteListener,
  {
    /**
     * Takes connections until the scope closes, which ends them all. Each is served in a fiber of its own; it is closed
     * when `serve` ends, after what was sent has gone, and `serve` is interrupted by nothing but the end of the scope.
     */
    readonly listen: (
      options: ByteListenOptions,
      serve: (link: ByteLink) => Effect.Effect<void>
    ) => Effect.Effect<{ readonly host: string; readonly port: number }, ListenError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/ByteListener") {}

/** Opens connections with others. */
export class ByteConnector extends Context.Service<
  ByteConnector,
  {
    /** Opens a link that lives as long as the scope; it is closed after what was sent has gone. */
    readonly connect: (to: {
      readonly host: string
      readonly port: number
    }) => Effect.Effect<ByteLink, Unreachable, Scope.Scope>
  }
>()("a2c-smcp/application/ports/ByteConnector") {}
