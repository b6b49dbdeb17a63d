import { Duration, Effect, FiberMap, Option, Result } from "effect"
import { operatorRequests } from "../../../domain/page/operatorRequests.ts"
import type { OfficeAddress, PageEvent } from "../../../domain/page/PageEvent.ts"
import { decodeBody, jsonBody } from "../../ports/Body.ts"
import type { Connection } from "../connections/Connections.ts"
import type { WatchedServer } from "./WatchedServer.ts"

const { inspect } = operatorRequests

/** How long a Computer waits for a change, in milliseconds, and how long the Server waits for its reply. */
const waitMillis = 20_000
const replyTimeout = Duration.seconds(25)

/** The delay after an inspection that failed. */
const retryDelay = Duration.seconds(5)

/** Larger reports, in bytes of JSON text, are ignored: their parse would delay other members. */
const maxInspectionBytes = 1024 * 1024

export type Inspections = Effect.Success<ReturnType<typeof makeInspections>>

/**
 * Asks the Computers of this node in one office for the states of their MCP servers, as long as the scope. Only
 * Computers that announce it are asked: other peers never see the request.
 */
export const makeInspections = Effect.fnUntraced(function* (
  { connections }: WatchedServer,
  publish: (event: PageEvent) => void
) {
  const fibers = yield* FiberMap.make<string, void>()
  const run = yield* FiberMap.runtime(fibers)()
  let focused: OfficeAddress | undefined

  /** The name of a connection that is a Computer of the focused office and reports. */
  const computerOf = ({ features, line, registration }: Connection): string | undefined => {
    const membership = Option.getOrUndefined(registration.session.membership)
    if (focused === undefined || membership === undefined || !inspect.isPermitted(features)) return undefined
    const isFocused = line.name === focused.line && membership.office === line.officeKey(focused.office)
    return isFocused && membership.role === "computer" ? membership.name : undefined
  }

  const ask = Effect.fnUntraced(function* (connection: Connection, seen: number | undefined) {
    const body = jsonBody(
      inspect.request.encode(seen === undefined ? { waitMillis: 0 } : { waitMillis, revision: seen })
    )
    const [reply] = yield* connection.link.request(inspect.event, body, replyTimeout)
    if (reply === undefined || reply.byteLength() > maxInspectionBytes) return undefined
    return Result.getOrUndefined(decodeBody(reply, inspect.reply.decode))
  })

  const report = (connection: Connection, address: OfficeAddress): Effect.Effect<void> => {
    let seen: number | undefined
    return Effect.gen(function* () {
      for (let name = computerOf(connection); name !== undefined; name = computerOf(connection)) {
        const reply = yield* ask(connection, seen).pipe(
          Effect.catchTags({ RequestTimeout: () => Effect.undefined, SendFailed: () => Effect.undefined })
        )
        if (reply === undefined) yield* Effect.sleep(retryDelay)
        else if (reply.revision !== seen)
          publish({ _tag: "Inspected", ...address, computer: name, inspection: reply.inspection })
        seen = reply?.revision
      }
    }).pipe(Effect.catchTag("LinkClosed", () => Effect.void))
  }

  const addConnection = (connection: Connection): void => {
    if (focused === undefined || computerOf(connection) === undefined) return
    run(connection.link.id, report(connection, focused))
  }

  return {
    /** Asks the Computers of this office, instead of those of the office before. */
    focus: ({ line, office }: OfficeAddress): Effect.Effect<void> =>
      Effect.gen(function* () {
        if (focused?.line === line && focused.office === office) return
        focused = { line, office }
        yield* FiberMap.clear(fibers)
        for (const connection of connections.all()) addConnection(connection)
      }),
    /** Asks a session, if it is a Computer of the office that reports, until its connection closes. */
    add: (sid: string): void => {
      const connection = connections.get(sid)
      if (connection !== undefined) addConnection(connection)
    }
  }
})
