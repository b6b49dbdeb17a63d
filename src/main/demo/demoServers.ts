import { createRequire } from "node:module"
import { join } from "node:path"
import { Effect, FileSystem } from "effect"
import * as NpmInstaller from "../../adapters/packs/install/NpmInstaller.ts"
import { noHomeAdvice, userCacheFolder } from "../../adapters/process/userFolders.ts"
import { PackInstaller } from "../../application/ports/packs/PackInstaller.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { CommandFailed } from "../CommandFailed.ts"
import { print } from "../cli/output/print.ts"

/** The MCP servers of the demo, with the versions that it installs. */
export const demoServers = {
  "@modelcontextprotocol/server-everything": "2026.8.31",
  "@modelcontextprotocol/server-memory": "2026.8.31"
} as const

const packages = Object.entries(demoServers).map(([name, version]) => `${name}@${version}`)

/** The entry point of an MCP server, as installed beside this package or by the demo. */
export const findDemoServer = (name: keyof typeof demoServers) => {
  const folder = userCacheFolder("demo")
  for (const place of [import.meta.url, ...(folder === undefined ? [] : [join(folder, "package.json")])]) {
    try {
      return createRequire(place).resolve(`${name}/dist/index.js`)
    } catch {
      // The next place may have it.
    }
  }
  return undefined
}

const areFound = (): boolean =>
  Object.keys(demoServers).every((name) => findDemoServer(name as keyof typeof demoServers) !== undefined)

/** Installs the MCP servers of the demo from npm into a cache of the user, unless they are there. */
export const installDemoServers = Effect.fnUntraced(
  function* () {
    if (areFound()) return
    const folder = userCacheFolder("demo")
    if (folder === undefined) return yield* Effect.fail(noHomeAdvice("XDG_CACHE_HOME"))
    yield* print("The demo installs two MCP servers from npm, once …")
    yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder, { recursive: true }))
    yield* PackInstaller.use(({ install }) => install(folder, packages, () => Effect.void)).pipe(
      Effect.provide(NpmInstaller.layer())
    )
  },
  Effect.mapError(
    (error) =>
      new CommandFailed({
        message: `The MCP servers of the demo cannot be installed: ${errorMessage(error)}. Install them yourself: npm install ${packages.join(" ")}`
      })
  )
)
