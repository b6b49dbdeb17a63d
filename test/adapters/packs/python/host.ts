import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Redacted } from "effect"
import * as NodeFolders from "../../../../src/adapters/packs/discovery/NodePackFolders.ts"
import { serveTools } from "../../../../src/adapters/packs/http/ToolServer.ts"
import * as NodeLoader from "../../../../src/adapters/packs/NodePackLoader.ts"
import { PackHost, type PackHostOptions } from "../../../../src/application/packs/PackHost.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { installerLayer } from "./python.ts"

/** A host of the packs in folders, with the environments of the tests. */
export const packHostWith = (
  folders: ReadonlyArray<string>,
  options: Omit<PackHostOptions, "folders"> = {}
): Layer.Layer<PackHost> =>
  PackHost.layer({ folders, watch: false, ...options }).pipe(
    Layer.provide(NodeFolders.layer),
    Layer.provide(NodeLoader.layer),
    Layer.provide(installerLayer()),
    Layer.provide(NodeServices.layer)
  )

/** Serves the packs of a host with a key, and gives what sends requests with it. */
export const served = Effect.gen(function* () {
  const host = yield* PackHost
  yield* host.rescan
  const { url } = yield* serveTools({ port: 0, key: Redacted.make("k3y-of-the-tools") })
  const request = (path: string, init: RequestInit) =>
    Effect.promise(async () => {
      const headers = { "X-API-Key": "k3y-of-the-tools", ...init.headers }
      const response = await fetch(`${url}${path}`, { ...init, headers })
      return { status: response.status, body: (await response.json()) as JsonObject }
    })
  const post = (path: string, body: unknown) =>
    request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })
  const upload = (path: string, fields: ReadonlyArray<readonly [string, string | File]>) => {
    const body = new FormData()
    for (const [name, value] of fields) body.append(name, value)
    return request(path, { method: "POST", body })
  }
  return { host, post, request, upload }
})

export type Served = Effect.Success<typeof served>
