import type { MCPClientConfig, MCPConnectionOptions } from "@gleanwork/mcp-config-schema"
import { resolve } from "node:path"
import { Effect, Result } from "effect"
import { errorMessage } from "../../../domain/errorMessage.ts"
import { asObject, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { defaultLineName } from "../../../domain/wire/lines.ts"
import { CommandFailed, failCommand } from "../../CommandFailed.ts"
import { didYouMean } from "../../config/didYouMean.ts"
import { print, printError, printLine } from "../output/print.ts"
import type { OptionsOf } from "./flags.ts"

/** The package that hosts start with npx. */
const packageName = "a2c-cli"

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

/** Every host has another format, and formats change: a maintained package has them. */
const loadSchemas = Effect.promise(() => import("@gleanwork/mcp-config-schema"))

const makeRegistry = Effect.map(
  loadSchemas,
  ({ MCPConfigRegistry }) => new MCPConfigRegistry({ serverPackage: packageName })
)

/** The names of the hosts that have a configuration file. */
export const hostNames = Effect.map(makeRegistry, (registry) => {
  const hosts = registry.getAllConfigs().filter(({ userConfigurable }) => userConfigurable)
  return [...Object.keys(hostAliases), ...hosts.map(({ id }) => id)].toSorted()
})

/** The link that installs an entry; `undefined` for hosts without such links. */
const installLink = (handler: MCPClientConfig["protocolHandler"], name: string, entry: JsonObject) => {
  if (handler === undefined) return undefined
  const encoded =
    handler.configFormat === "base64-json"
      ? Buffer.from(JSON.stringify(entry)).toString("base64")
      : JSON.stringify({ name, ...entry })
  return handler.urlTemplate
    .replace("{{name}}", () => encodeURIComponent(name))
    .replace("{{config}}", () => encodeURIComponent(encoded))
}

/**
 * Prints the entry for the configuration of an MCP host to stdout, and the path of the configuration to stderr. With
 * `--link`, prints a link that installs the entry.
 */
export const printHostConfig = Effect.fnUntraced(function* (options: OptionsOf<"hostConfig">) {
  const { host, link, name, office, protocol, server, takeOver, tlsCa, tokenFile, url, wait } = options
  const registry = yield* makeRegistry
  const found = registry.getAllConfigs().find(({ id }) => id === (hostAliases[host] ?? host))
  if (found === undefined) {
    const names = yield* hostNames
    return yield* failCommand(
      `Unknown host '${host}'${didYouMean(host, names) || `: expected one of ${names.join(", ")}`}`
    )
  }
  if (!found.userConfigurable)
    return yield* failCommand(
      `${found.displayName} has no configuration file: publish the office with 'a2c agent mcp --http', and enter its URL there`
    )
  const serverName = `office-${office}`
  // The host starts the process in another folder.
  const joining = definedOnly({
    A2C_TOKEN_FILE: tokenFile && resolve(tokenFile),
    A2C_TLS_CA: tlsCa && resolve(tlsCa),
    A2C_PROTOCOL: protocol === defaultLineName ? undefined : protocol,
    A2C_TAKE_OVER: takeOver ? "true" : undefined,
    A2C_WAIT: wait?.toString()
  })
  const env = { A2C_SERVER: server, A2C_OFFICE: office, A2C_NAME: name, ...joining }
  const connection: MCPConnectionOptions =
    url === undefined ? { transport: "stdio", serverName, env } : { transport: "http", serverName, serverUrl: url }
  const builder = registry.createBuilder(found.id)
  const config = yield* Effect.try({
    try: () => builder.buildConfiguration({ ...connection, includeRootObject: !link }),
    catch: (error) => new CommandFailed({ message: errorMessage(error) })
  })
  const complete = appendArguments(config)
  if (link) {
    const made = installLink(found.protocolHandler, serverName, asObject(Object.values(asObject(complete))[0]))
    return yield* made === undefined
      ? failCommand(`${found.displayName} has no install links: leave out --link`)
      : printLine(made)
  }
  // A host that does not run on this system has no path.
  const path = Result.getOrElse(
    Result.try(() => builder.getConfigPath()),
    () => `the configuration of ${found.displayName}`
  )
  yield* printError(`Add this to ${path}:`)
  yield* print(builder.toString(complete as typeof config))
})
