import { MCPConfigRegistry } from "@gleanwork/mcp-config-schema"
import { resolve } from "node:path"
import { Effect } from "effect"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { isJsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { CommandFailed, failCommand } from "../CommandFailed.ts"
import { print, printError } from "../output/print.ts"
import type { HostConfigOptions } from "./flags.ts"

const packageName = "a2c-smcp"

/** Short names that users try first. */
const hostAliases: { readonly [name: string]: string } = { claude: "claude-desktop" }

/** Adds the arguments of the command after the package name, at any depth of the snippet. */
const appendArguments = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    return value.at(-1) === packageName ? [...value, "agent", "mcp"] : value.map(appendArguments)
  }
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, appendArguments(member)]))
}

/** Prints the entry for the configuration of an MCP host to stdout, and the path of the configuration to stderr. */
export const printHostConfig = Effect.fnUntraced(function* (options: HostConfigOptions) {
  const { host, name, office, server, tlsCa, tokenFile, url } = options
  const registry = new MCPConfigRegistry({ serverPackage: packageName })
  const known = registry.getAllConfigs().map(({ id }) => id)
  const id = known.find((one) => one === (hostAliases[host] ?? host))
  if (id === undefined) {
    const names = [...Object.keys(hostAliases), ...known].toSorted().join(", ")
    return yield* failCommand(`Unknown host '${host}': expected one of ${names}`)
  }
  const serverName = `office-${office}`
  // The host starts the process in another folder.
  const files = Object.fromEntries(
    Object.entries(definedOnly({ A2C_TOKEN_FILE: tokenFile, A2C_TLS_CA: tlsCa })).map(([variable, file]) => [
      variable,
      resolve(file)
    ])
  )
  const snippet = yield* Effect.try({
    try: () => {
      const builder = registry.createBuilder(id)
      const config =
        url === undefined
          ? builder.buildConfiguration({
              transport: "stdio",
              serverName,
              env: { A2C_SERVER: server, A2C_OFFICE: office, A2C_NAME: name, ...files }
            })
          : builder.buildConfiguration({ transport: "http", serverName, serverUrl: url })
      return { text: builder.toString(appendArguments(config) as typeof config), place: builder.getConfigPath() }
    },
    catch: (error) => new CommandFailed({ message: errorMessage(error) })
  })
  yield* printError(`Add this to ${snippet.place}:`)
  yield* print(snippet.text)
})
