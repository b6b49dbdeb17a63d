import { Duration, Effect } from "effect"
import type { ByteLink } from "../../application/ports/ByteLink.ts"

/** A link, and the hand of who opened it. */
export interface OwnedByteLink {
  readonly link: ByteLink
  /** Closes the link after what was sent has gone; what has not after {@link closeTimeout} is dropped. Never hangs. */
  readonly close: Effect.Effect<void>
}

/**
 * How long the far end has to take the last bytes and to close its side, too. All but what stands in a buffer of ours
 * has left by then, and who stops a listener waits for the slowest of its peers.
 */
export const closeTimeout = Duration.seconds(1)

/** Why a link is gone that this end closed, or that it closed because the far end had. */
export const closedLocally = "this end closed the connection"
export const closedByPeer = "the far end closed the connection"

/** Serves a link, and closes it in any case. A bug in `serve` is logged, and ends no other link. */
export const serveLink = (
  { close, link }: OwnedByteLink,
  serve: (link: ByteLink) => Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.suspend(() => serve(link)).pipe(
    Effect.catchDefect((defect) =>
      Effect.logError("serving a connection failed", { peer: link.remoteAddress }, defect)
    ),
    Effect.ensuring(close)
  )
