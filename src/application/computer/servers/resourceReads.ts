import { Duration, Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import { transitionOf } from "../../../domain/mcpServers/reload.ts"
import { McpSessionError } from "../../ports/McpSession.ts"
import { listResources } from "../../shared/listings/serverListings.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { backgroundSessionOf, isOffered, type OfferedServer } from "./ServersSnapshot.ts"
import type { ServerStateStore } from "./ServerStateStore.ts"

export const listingTimedOut = new McpSessionError({ reason: "unavailable", message: "listing timed out" })

const maxReadsPerServer = 16

/** Makes the reads of resources that the MCP servers in a store list. */
export const makeResourceReads = Effect.fnUntraced(function* ({ snapshot, update }: ServerStateStore) {
  const { readTimeout } = yield* ComputerSettings

  /**
   * Lists a server's resources again, for changes that the server does not announce. Gives the last listing of a lazy server
   * that does not run.
   */
  const refreshResources = (server: OfferedServer): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> => {
    const { name } = server.config
    const session = backgroundSessionOf(server)
    if (session === undefined) return Effect.succeed(server.resources)
    return listResources(session).pipe(
      Effect.map(({ items }) => items),
      Effect.timeoutOrElse({ duration: readTimeout, orElse: () => Effect.fail(listingTimedOut) }),
      Effect.tap((resources) =>
        update((all) => {
          const listed = all.get(name)
          const state = snapshot().states.get(name)
          const isChanged =
            isOffered(state) &&
            backgroundSessionOf(state) === session &&
            JSON.stringify(state.resources) !== JSON.stringify(resources)
          if (listed === undefined || !isChanged) return [undefined, all]
          return transitionOf(all, name, { _tag: "ListingsChanged", run: listed.run, listings: { resources } })
        })
      )
    )
  }

  const freshResources = (server: OfferedServer, kind: "windows" | "documents") =>
    refreshResources(server).pipe(
      Effect.timeout(Duration.times(readTimeout, 0.5)),
      Effect.catch(({ message: reason }) =>
        Effect.as(
          Effect.logWarning("using the previous resource listing", { server: server.config.name, kind, reason }),
          server.resources
        )
      )
    )

  return {
    refreshResources,
    /**
     * Lists the resources of every shown server again and collects what `read` makes of each, in listing order. Uses the
     * previous listing of a server after half of the read timeout.
     */
    readShown: <A>(
      kind: "windows" | "documents",
      read: (resource: JsonObject, server: OfferedServer) => Effect.Effect<ReadonlyArray<A>>,
      select = (resources: ReadonlyArray<JsonObject>) => resources
    ): Effect.Effect<ReadonlyArray<A>> =>
      Effect.forEach(
        snapshot().shown,
        (server) =>
          Effect.flatMap(freshResources(server, kind), (resources) =>
            Effect.forEach(select(resources), (resource) => read(resource, server), { concurrency: maxReadsPerServer })
          ),
        { concurrency: "unbounded" }
      ).pipe(Effect.map((results) => results.flat(2)))
  }
})
