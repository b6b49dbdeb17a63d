import { Config, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import {
  approve,
  computerName,
  configFiles,
  inputValues,
  office,
  serverUrl,
  tokenFile,
  watch
} from "../sharedFlags.ts"
import { withTelemetry } from "../globalFlags.ts"

const checkCommand = Command.make(
  "check",
  {
    files: Argument.String("file").pipe(
      Argument.withDescription("configuration, in any of the dialects"),
      Argument.variadic({ min: 1 })
    ),
    inputs: inputValues,
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  },
  Effect.fn(function* (options) {
    const { runCheck } = yield* Effect.promise(() => import("./runCheck.ts"))
    return yield* runCheck(options)
  })
).pipe(
  Command.withDescription(
    "Explain a configuration and say what is wrong with it; exits with 1 when something is"
  ),
  Command.withExamples([
    { command: "a2c computer check .vscode/mcp.json", description: "Check an editor's configuration" }
  ])
)

/** `a2c computer`. */
export const computerCommand = Command.make(
  "computer",
  {
    server: serverUrl,
    tokenFile,
    office: Flag.optional(office),
    name: computerName,
    configFiles,
    inputs: inputValues,
    watch,
    interactive: Flag.Boolean("interactive").pipe(
      Flag.withAlias("i"),
      Flag.withDescription("type commands while it runs: status, tools, call, desktop, servers, inputs, …"),
      Flag.withDefault(false)
    ),
    run: Flag.String("run").pipe(
      Flag.withMetavar("COMMAND"),
      Flag.withDescription(
        "run a command of the interactive shell, print what it gives, and end; may be repeated"
      ),
      Flag.atLeast(0)
    ),
    allWindows: Flag.Boolean("all-windows").pipe(
      Flag.withDescription("show windows and documents of servers, too, that do not tell when they change"),
      Flag.withDefault(false)
    ),
    dpe: Flag.String("dpe").pipe(
      Flag.withMetavar("HOW"),
      Flag.withDescription(
        "give Agents documents they can fetch: cache[:FOLDER] as file:// URIs, " +
          "http[:PORT] as signed URLs of a small server on loopback [env A2C_DPE]"
      ),
      Flag.withFallbackConfig(Config.String("A2C_DPE")),
      Flag.optional
    ),
    dpeUrl: Flag.String("dpe-url").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription("where Agents find that server when it stands behind a proxy [env A2C_DPE_URL]"),
      Flag.withFallbackConfig(Config.String("A2C_DPE_URL")),
      Flag.optional
    ),
    approve
  },
  Effect.fn(function* (options) {
    const { runComputer } = yield* Effect.promise(() => import("./runComputer.ts"))
    return yield* runComputer(options)
  })
).pipe(
  Command.withDescription("Run a Computer: start MCP servers and offer their tools to an office"),
  Command.withExamples([
    {
      command: "a2c computer --office team --name desk --config mcp.json",
      description: "Join the office 'team' with the servers of mcp.json"
    },
    {
      command: "a2c computer --office team --config mcp.json --input token=abc --approve 'search*'",
      description: "The same, with the value of an input, and tools that run without asking"
    },
    {
      command: "a2c computer --config mcp.json --run status --run 'call echo message=hi'",
      description: "Start the servers, run commands, and end; no office is needed"
    }
  ]),
  withTelemetry("a2c-computer"),
  Command.withSubcommands([checkCommand])
)
