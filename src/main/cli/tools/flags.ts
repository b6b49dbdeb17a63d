import { Duration } from "effect"
import { Argument, type Command } from "effect/cli"
import { between, flag, setting } from "../setting.ts"
import { argsFlag, jsonFlag } from "../sharedFlags.ts"

/** The folder of packs without an argument or variable. */
export const defaultFolder = "src"

const folders = Argument.String("dir").pipe(
  Argument.withDescription(
    "folder with packs of tools; its sibling AutoUp-MCP-Extension is searched, too " +
      `[env TOOLS_DIR; default: ${defaultFolder}]`
  ),
  Argument.variadic()
)

const dir = setting.text("dir", {
  env: "TOOLS_DIR",
  metavar: "DIR",
  help: "folder with packs of tools",
  default: defaultFolder
})

const sizeFlag = (name: string, max: number, defaultSize: number, help: string) =>
  flag.int(name, { metavar: "NUMBER", help, default: defaultSize, check: between(1, max) })

const runtimeFlags = {
  install: flag.toggle("install", {
    help: "install the packages that packs declare; --no-install fails instead",
    default: true,
    shown: "on"
  }),
  allowScripts: flag.toggle("allow-scripts", {
    help: "let packages run their install scripts, which may do anything",
    default: false
  }),
  isolate: flag.toggle("isolate", {
    help: "run every pack in a separate process, so a runaway pack is killed alone",
    default: false
  }),
  memory: sizeFlag("memory", 65_536, 256, "memory limit of an isolated pack in MiB")
}

export type PackRuntimeOptions = Command.Command.Config.Infer<typeof runtimeFlags>

const timeout = flag.seconds("timeout", { help: "timeout of a call", default: Duration.seconds(120) })

/** The arguments and flags of `a2c tools serve`. */
export const serveFlags = {
  folders,
  host: setting.text("host", { env: "HOST", help: "address to listen on", default: "127.0.0.1" }),
  port: setting.port("port", {
    env: "PORT",
    help: "port to listen on, 0 for a free one",
    default: 8000
  }),
  key: setting.secret("key", {
    env: "AUTOMATA_API_KEY",
    envNote: "preferred",
    help: "key that clients must send as X-API-Key",
    default: undefined
  }),
  force: flag.toggle("force", {
    help: "allow an address that other machines reach without a key",
    default: false
  }),
  mcp: flag.choice("mcp", ["http", "stdio"], {
    help: "serve MCP at /mcp beside the endpoints, or over stdio and nothing else",
    default: "http"
  }),
  watch: flag.toggle("watch", {
    help: "reload packs that are added, edited or removed",
    default: true,
    shown: "on"
  }),
  ...runtimeFlags,
  timeout,
  allowedOrigins: flag.texts("allow-origin", {
    metavar: "ORIGIN",
    help: "origin whose pages may call tools"
  }),
  allowedHosts: flag.texts("allow-host", {
    metavar: "NAME",
    help: "host name by which clients may address this server"
  }),
  maxBodyBytes: sizeFlag("max-body", 1024 ** 3, 1024 ** 2, "maximum size of the JSON of a call in bytes"),
  maxFileBytes: sizeFlag(
    "max-upload",
    64 * 1024 ** 3,
    100 * 1024 ** 2,
    "maximum size of an uploaded file in bytes"
  )
}

export type ServeToolsCommandOptions = Command.Command.Config.Infer<typeof serveFlags>

/** The arguments and flags of `a2c tools list`. */
export const listFlags = { folders, ...runtimeFlags, json: jsonFlag }

export type ListToolsOptions = Command.Command.Config.Infer<typeof listFlags>

/** The arguments and flags of `a2c tools call`. */
export const callFlags = {
  tool: Argument.String("tool").pipe(Argument.withDescription("name of the tool")),
  dir,
  args: argsFlag,
  ...runtimeFlags,
  timeout,
  json: jsonFlag
}

export type CallToolOptions = Command.Command.Config.Infer<typeof callFlags>

/** The arguments and flags of `a2c tools new`. */
export const newFlags = {
  name: Argument.String("name").pipe(Argument.withDescription("name of the pack, as text_counter")),
  dir
}

export type NewPackOptions = Command.Command.Config.Infer<typeof newFlags>
