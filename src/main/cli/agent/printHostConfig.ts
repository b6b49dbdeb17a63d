import { MCPConfigRegistry } from "@gleanwork/mcp-config-schema"
import { resolve } from "node:path"
import { Console, Effect, Option } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { CommandFailed } from "../CommandFailed.ts"

/** What an MCP host is to be told of an office. */
export interface HostConfigOptions {
  /** The host, by its short name: `claude`, `cursor`, `vscode`, … */
  readonly host: string
  readonly server: string
  readonly office: string
  readonly name: string
  readonly tokenFile: Option.Option<string>
  /** Where the office is published already; without it the host starts a process of its own. */
  readonly url: string | undefined
}

const packageName = "a2c-smcp"

/** Names that people try first. */
const hostAliases: { readonly [name: string]: string } = { claude: "claude-desktop" }

/** The snippet with what the package is to be started with, wherever the host keeps it. */
const appendArguments = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    return value.at(-1) === packageName ? [...value, "agent", "mcp"] : value.map(appendArguments)
  }
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, appendArguments(member)]))
}

/** Prints what a host's configuration needs to use an office, and on stderr where it belongs. */
export const printHostConfig = Effect.fnUntraced(function* ({
  host,
  name,
  office,
  server,
  tokenFile,
  url
}: HostConfigOptions) {
  const registry = new MCPConfigRegistry({ serverPackage: packageName })
  const known = registry.getAllConfigs().map(({ id }) => id)
  const id = known.find((one) => one === (hostAliases[host] ?? host))
  if (id === undefined) {
    const names = [...Object.keys(hostAliases), ...known].toSorted().join(", ")
    return yield* new CommandFailed({ message: `No host '${host}' is known, only ${names}` })
  }
  const serverName = `office-${office}`
  // The host starts it in another folder.
  const token = Option.isSome(tokenFile) ? { A2C_TOKEN_FILE: resolve(tokenFile.value) } : {}
  const snippet = yield* Effect.try({
    try: () => {
      const builder = registry.createBuilder(id)
      const config =
        url === undefined
          ? builder.buildConfiguration({
              transport: "stdio",
              serverName,
              env: { A2C_SERVER: server, A2C_OFFICE: office, A2C_NAME: name, ...token }
            })
          : builder.buildConfiguration({ transport: "http", serverName, serverUrl: url })
      return {
        text: builder.toString(appendArguments(config) as typeof config),
        place: builder.getConfigPath()
      }
    },
    catch: (error) => new CommandFailed({ message: error instanceof Error ? error.message : String(error) })
  })
  yield* Console.error(`Add this to ${snippet.place}:`)
  yield* Console.log(snippet.text)
})
