import { Context, Effect, Layer, type Scope } from "effect"
import type { Identity } from "../../domain/office/identity.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import type { Link } from "../ports/Transport.ts"

/** An open connection and the protocol line it speaks. */
export interface Connection {
  readonly link: Link
  readonly line: Line
  /** Who it is by the word of an authenticator; missing where none was asked. */
  readonly identity?: Identity
}

/** Who is connected to this Server, by session id. */
export class Connections extends Context.Service<
  Connections,
  {
    /** Adds a connection for as long as the scope. */
    readonly add: (connection: Connection) => Effect.Effect<void, never, Scope.Scope>
    readonly get: (sid: string) => Connection | undefined
    /** How many there are. */
    readonly size: () => number
    /** Bytes that wait for all of them together. */
    readonly backlog: () => number
  }
>()("a2c-smcp/application/server/Connections") {
  static readonly layer = Layer.sync(Connections, () => {
    const connections = new Map<string, Connection>()
    return Connections.of({
      add: (connection) =>
        Effect.acquireRelease(
          Effect.sync(() => void connections.set(connection.link.id, connection)),
          () => Effect.sync(() => void connections.delete(connection.link.id))
        ),
      get: (sid) => connections.get(sid),
      size: () => connections.size,
      backlog: () => {
        let bytes = 0
        for (const { link } of connections.values()) bytes += link.backlog()
        return bytes
      }
    })
  })
}
