import { Effect } from "effect"
import { linesNamed, linesWithin } from "../../domain/wire/lines.ts"
import type { ProtocolLine } from "../../domain/wire/ProtocolLine.ts"
import type { ConnectError } from "../ports/Transport.ts"

/** Connects on the newest line that the Server accepts. Fails with the last rejection. */
export const connectOnNewestLine = <A, R>(
  connect: (line: ProtocolLine) => Effect.Effect<A, ConnectError, R>
): Effect.Effect<A, ConnectError, R> => {
  const connectOnFirst = ([line, ...others]: ReadonlyArray<ProtocolLine>): Effect.Effect<A, ConnectError, R> =>
    line === undefined
      ? Effect.die("no protocol line")
      : Effect.catchTag(connect(line), "VersionRejected", (rejection) => {
          const { mismatch } = rejection
          const accepted =
            mismatch === undefined ? others : others.filter((other) => linesWithin(mismatch).includes(other))
          return accepted.length === 0 ? Effect.fail(rejection) : connectOnFirst(accepted)
        })
  return connectOnFirst(linesNamed().toReversed())
}
