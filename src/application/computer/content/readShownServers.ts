import { Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { RunningMcpServer } from "../servers/ServerState.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"

const maxReadsPerServer = 16

/** Lists the resources of every shown server again and collects what `read` makes of each, in listing order. */
export const readShownServers = <A>(
  servers: ServerSupervisor,
  kind: "windows" | "documents",
  read: (resource: JsonObject, server: RunningMcpServer) => Effect.Effect<ReadonlyArray<A>>,
  select: (resources: ReadonlyArray<JsonObject>) => ReadonlyArray<JsonObject> = (resources) => resources
): Effect.Effect<ReadonlyArray<A>> =>
  Effect.forEach(
    servers.snapshot().shown,
    (server) =>
      Effect.flatMap(servers.freshResources(server, kind), (resources) =>
        Effect.forEach(select(resources), (resource) => read(resource, server), { concurrency: maxReadsPerServer })
      ),
    { concurrency: "unbounded" }
  ).pipe(Effect.map((results) => results.flat(2)))
