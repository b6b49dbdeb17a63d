import { Duration } from "effect"
import { type Command, Flag } from "effect/cli"
import type { FlagRule } from "../flags/flagRules.ts"
import { flag, setting } from "../flags/setting.ts"
import {
  argsFlag,
  argumentWords,
  jsonFlag,
  listenHost,
  originsFlag,
  rawFlag,
  sizeFlag,
  word,
  words
} from "../flags/sharedFlags.ts"
import { parseHostName } from "../../config/webAddress.ts"

/** The folder of packs without an argument or variable. */
export const defaultFolder = "src"

const folders = words(
  "dir",
  "folder with packs of tools; its sibling AutoUp-MCP-Extension is also searched " +
    `[env TOOLS_DIR; default: ${defaultFolder}]`
)

const dir = setting.text("dir", "folder with packs of tools", {
  env: "TOOLS_DIR",
  metavar: "DIR",
  default: defaultFolder
})

const runtimeFlags = {
  install: flag.toggle("install", "install the packages that packs declare; --no-install fails instead", {
    default: true
  }),
  allowScripts: flag.toggle("allow-scripts", "let packages run their install scripts, which may do anything"),
  python: setting.text("python", "interpreter of Python packs, 3.10 or later; python3 by default", {
    metavar: "PROGRAM"
  }),
  isolate: flag.toggle("isolate", "run every pack in a separate process, so a runaway pack is killed alone"),
  memory: sizeFlag("memory", 65_536, 256, "memory limit of an isolated pack in MiB")
}
export type PackRuntimeOptions = Command.Command.Config.Infer<typeof runtimeFlags>

export const runtimeRules: ReadonlyArray<FlagRule<PackRuntimeOptions>> = [
  { flags: ["allowScripts"], rule: "not with --no-install", isMet: ({ install }) => install },
  { flags: ["memory"], rule: "only with --isolate", isMet: ({ isolate }) => isolate }
]

const timeout = flag.seconds("timeout", "timeout of a call", { default: Duration.seconds(120) })

export const serveFlags = {
  folders,
  host: listenHost(setting, { env: "HOST" }),
  port: setting.port("port", "port to listen on, 0 for a free one", { env: "PORT", default: 8000 }),
  key: setting.secret("key", "key that clients must send as X-API-Key", { env: "AUTOMATA_API_KEY" }),
  publicDocs: setting.toggle("public-docs", "show /docs and /openapi.json without the key"),
  force: flag.toggle("force", "allow an address that other machines reach without a key"),
  mcp: flag.choice("mcp", "serve MCP at /mcp beside the endpoints, or over stdio and nothing else", ["http", "stdio"], {
    default: "http"
  }),
  watch: flag.toggle("watch", "reload packs that are added, edited or removed", { default: true }),
  ...runtimeFlags,
  timeout,
  allowedOrigins: originsFlag(flag, "origin whose pages may call tools, * for any"),
  allowedHosts: Flag.map(
    flag.texts("allow-host", "host name by which clients may address this server", {
      metavar: "NAME",
      check: [(text: string) => parseHostName(text) !== undefined, "a host name like tools.example.org, without a port"]
    }),
    (names) => names.map((name) => parseHostName(name) ?? name)
  ),
  maxBodyBytes: sizeFlag("max-body", 1024 ** 3, 1024 ** 2, "maximum size of the JSON of a call in bytes"),
  maxFileBytes: sizeFlag("max-upload", 64 * 1024 ** 3, 100 * 1024 ** 2, "maximum size of an uploaded file in bytes")
}
export type ServeToolsCommandOptions = Command.Command.Config.Infer<typeof serveFlags>

export const httpFlags = [
  "host",
  "port",
  "key",
  "publicDocs",
  "force",
  "allowedOrigins",
  "allowedHosts",
  "maxBodyBytes",
  "maxFileBytes"
] as const

export const listFlags = { folders, ...runtimeFlags, json: jsonFlag }
export type ListToolsOptions = Command.Command.Config.Infer<typeof listFlags>

export const packCallFlags = {
  tool: word("tool", "name of the tool"),
  words: argumentWords,
  dir,
  args: argsFlag,
  ...runtimeFlags,
  timeout,
  json: jsonFlag,
  raw: rawFlag
}
export type CallToolOptions = Command.Command.Config.Infer<typeof packCallFlags>

export const newFlags = {
  name: word("name", "name of the pack, as text_counter"),
  dir,
  python: flag.toggle("python", "write the pack in Python")
}
export type NewPackOptions = Command.Command.Config.Infer<typeof newFlags>
