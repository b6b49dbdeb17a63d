import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer } from "effect"
import * as NodeFolders from "../../adapters/packs/discovery/NodePackFolders.ts"
import * as NpmInstaller from "../../adapters/packs/install/NpmInstaller.ts"
import * as PythonInstaller from "../../adapters/packs/install/PythonInstaller.ts"
import { userCacheFolder } from "../../adapters/process/userFolders.ts"
import * as NodeLoader from "../../adapters/packs/NodePackLoader.ts"
import { PackHost, type PackHostOptions } from "../../application/packs/PackHost.ts"
import { nodeServicesLayer } from "./nodeServicesLayer.ts"

export type PackHostLayerOptions = PackHostOptions &
  NpmInstaller.NpmOptions &
  Pick<PythonInstaller.PythonOptions, "python"> & {
    /** Installs the packages that packs declare, by default. Without it a pack that lacks a package fails. */
    readonly install?: boolean
  }

/** A host of the packs in folders of this machine. It reads no folder before the first `rescan`. */
export const packHostLayer = ({ install = true, ...options }: PackHostLayerOptions): Layer.Layer<PackHost> =>
  PackHost.layer(options).pipe(
    Layer.provide(NodeFolders.layer),
    Layer.provide(NodeLoader.layer),
    Layer.provide(
      PythonInstaller.layer({
        ...options,
        install,
        environments: userCacheFolder("python") ?? join(tmpdir(), "a2c-python")
      })
    ),
    Layer.provide(install ? NpmInstaller.layer(options) : NpmInstaller.layerWithoutInstall),
    Layer.provide(nodeServicesLayer)
  )
