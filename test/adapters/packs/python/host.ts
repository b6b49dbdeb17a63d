import * as NodeServices from "@effect/platform-node/NodeServices"
import { Layer } from "effect"
import * as NodeFolders from "../../../../src/adapters/packs/discovery/NodePackFolders.ts"
import * as NodeLoader from "../../../../src/adapters/packs/NodePackLoader.ts"
import { PackHost, type PackHostOptions } from "../../../../src/application/packs/PackHost.ts"
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
