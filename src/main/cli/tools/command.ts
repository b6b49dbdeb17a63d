import { Config, Duration, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { positiveIntFlag, portFlag, requirePort, secondsFlag } from "../sharedFlags.ts"

/** Where packs are. */
const folders = Argument.String("dir").pipe(
  Argument.withDescription(
    "folder with packs of tools, beside which AutoUp-MCP-Extension is looked into, too " +
      "[env TOOLS_DIR; default: src]"
  ),
  Argument.variadic()
)

const dir = Flag.String("dir").pipe(
  Flag.withMetavar("DIR"),
  Flag.withDescription("folder with packs of tools [env TOOLS_DIR; default: src]"),
  Flag.withFallbackConfig(Config.String("TOOLS_DIR")),
  Flag.withDefault("src")
)

const install = Flag.Boolean("install").pipe(
  Flag.withDescription("install the packages that packs ask for; --no-install fails instead [default: on]"),
  Flag.withDefault(true)
)

const allowScripts = Flag.Boolean("allow-scripts").pipe(
  Flag.withDescription("let packages run their install scripts, which may do anything"),
  Flag.withDefault(false)
)

const isolate = Flag.Boolean("isolate").pipe(
  Flag.withDescription("run every pack in a process of its own, where a runaway is killed alone"),
  Flag.withDefault(false)
)

const memory = positiveIntFlag("memory", 65_536, 256, "MiB of memory of an isolated pack")
const timeout = secondsFlag("timeout", Duration.seconds(120), "how long a call may take")

const serveCommand = Command.make(
  "serve",
  {
    folders,
    host: Flag.String("host").pipe(
      Flag.withDescription("address to listen on [env HOST; default: 127.0.0.1]"),
      Flag.withFallbackConfig(Config.String("HOST")),
      Flag.withDefault("127.0.0.1")
    ),
    port: portFlag("port", "port to listen on, 0 for a free one [env PORT; default: 8000]").pipe(
      Flag.withFallbackConfig(Config.Int("PORT")),
      requirePort,
      Flag.withDefault(8000)
    ),
    key: Flag.Redacted("key").pipe(
      Flag.withDescription("what clients must show as X-API-Key; better by [env AUTOMATA_API_KEY]"),
      Flag.withFallbackConfig(Config.Redacted("AUTOMATA_API_KEY")),
      Flag.optional
    ),
    force: Flag.Boolean("force").pipe(
      Flag.withDescription("listen beyond this machine without a key"),
      Flag.withDefault(false)
    ),
    mcp: Flag.Literals("mcp", ["http", "stdio"]).pipe(
      Flag.withDescription("serve MCP at /mcp beside the endpoints, or over stdio and nothing else"),
      Flag.withDefault("http")
    ),
    watch: Flag.Boolean("watch").pipe(
      Flag.withDescription("take up packs that are added, edited or removed [default: on]"),
      Flag.withDefault(true)
    ),
    install,
    allowScripts,
    isolate,
    memory,
    timeout,
    allowedOrigins: Flag.String("allow-origin").pipe(
      Flag.withMetavar("ORIGIN"),
      Flag.withDescription("origin whose pages may call tools; may be repeated"),
      Flag.atLeast(0)
    ),
    allowedHosts: Flag.String("allow-host").pipe(
      Flag.withMetavar("NAME"),
      Flag.withDescription("name under which clients address this server; may be repeated"),
      Flag.atLeast(0)
    ),
    maxBodyBytes: positiveIntFlag("max-body", 1024 * 1024 * 1024, 1024 * 1024, "bytes of JSON of one call"),
    maxFileBytes: positiveIntFlag(
      "max-upload",
      64 * 1024 * 1024 * 1024,
      100 * 1024 * 1024,
      "bytes of one file that is sent along"
    )
  },
  Effect.fn(function* (options) {
    const { serveTools } = yield* Effect.promise(() => import("./serveTools.ts"))
    return yield* serveTools(options)
  })
).pipe(
  Command.withDescription("Serve folders of tools over HTTP and MCP"),
  Command.withExamples([
    { command: "a2c tools serve packs", description: "At http://127.0.0.1:8000, MCP at /mcp" },
    { command: "a2c tools serve packs --mcp stdio", description: "What an MCP host starts" }
  ])
)

const json = Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))

const listCommand = Command.make(
  "list",
  { folders, install, allowScripts, isolate, memory, json },
  Effect.fn(function* (options) {
    const { listTools } = yield* Effect.promise(() => import("./callTool.ts"))
    return yield* listTools(options)
  })
).pipe(Command.withDescription("List packs and their tools, and say what is wrong with them"))

const callCommand = Command.make(
  "call",
  {
    tool: Argument.String("tool").pipe(Argument.withDescription("name of the tool")),
    dir,
    args: Flag.String("args").pipe(
      Flag.withMetavar("JSON"),
      Flag.withDescription("what the tool takes"),
      Flag.withDefault("{}")
    ),
    install,
    allowScripts,
    isolate,
    memory,
    timeout,
    json
  },
  Effect.fn(function* (options) {
    const { callTool } = yield* Effect.promise(() => import("./callTool.ts"))
    return yield* callTool(options)
  })
).pipe(
  Command.withDescription("Call a tool of a pack; exits with 2 when the tool fails"),
  Command.withExamples([
    {
      command: `a2c tools call text_counter --dir packs --args '{"text": "hi there"}'`,
      description: "Call a tool without a server"
    }
  ])
)

const newCommand = Command.make(
  "new",
  {
    name: Argument.String("name").pipe(Argument.withDescription("name of the pack, as text_counter")),
    dir
  },
  Effect.fn(function* (options) {
    const { newPack } = yield* Effect.promise(() => import("./newPack.ts"))
    return yield* newPack(options)
  })
).pipe(
  Command.withDescription("Write a pack that works, with a test"),
  Command.withExamples([{ command: "a2c tools new text_counter", description: "In the folder src" }])
)

/** `a2c tools`. */
export const toolsCommand = Command.make("tools").pipe(
  Command.withDescription("Packs of tools: folders that become HTTP endpoints and MCP tools"),
  Command.withSubcommands([serveCommand, listCommand, callCommand, newCommand])
)
