import { Duration, Effect } from "effect"
import type { ByteLink } from "../../application/ports/ByteLink.ts"

/** A link, and the function of its owner that closes it. */
export interface OwnedByteLink {
  readonly link: ByteLink
  /** Sends the remaining bytes for at most {@link linkCloseTimeout}, then closes the link. Never hangs. */
  readonly close: Effect.Effect<void>
}

/** Time for a peer to take the last bytes and to close its side. A stopping listener waits for its slowest peer. */
export const linkCloseTimeout = Duration.seconds(1)

export const closedLocally = "closed locally"
export const closedByPeer = "closed by peer"

/** Serves a link and closes it in any case. A defect of `serve` is logged. */
export const serveLink = ({ close, link }: OwnedByteLink, serve: (link: ByteLink) => Effect.Effect<void>) =>
  Effect.suspend(() => serve(link)).pipe(
    Effect.catchDefect((defect) =>
      Effect.logError("connection handler failed", { remoteAddress: link.remoteAddress }, defect)
    ),
    Effect.ensuring(close)
  )
