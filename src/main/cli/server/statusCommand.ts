import { Config, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"

/** `a2c server status`. */
export const statusCommand = Command.make(
  "status",
  {
    url: Argument.String("url").pipe(
      Argument.withDescription("URL of the Server [env A2C_SERVER; default: http://127.0.0.1:7070]"),
      Argument.withFallbackConfig(Config.String("A2C_SERVER")),
      Argument.withDefault("http://127.0.0.1:7070")
    ),
    tokenFile: Flag.String("token-file").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription("file that holds the token of an operator and nothing else [env A2C_TOKEN_FILE]"),
      Flag.withFallbackConfig(Config.String("A2C_TOKEN_FILE")),
      Flag.optional
    ),
    listOffices: Flag.Boolean("offices").pipe(
      Flag.withDescription("list the offices by name"),
      Flag.withDefault(false)
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false)),
    watch: Flag.Boolean("watch").pipe(
      Flag.withDescription("print a line every two seconds until Ctrl-C"),
      Flag.withDefault(false)
    )
  },
  Effect.fn(function* (options) {
    const { showStatus } = yield* Effect.promise(() => import("./showStatus.ts"))
    return yield* showStatus(options)
  })
).pipe(
  Command.withDescription(
    "Show how a Server is; exits with 2 when it takes no members, with 1 when it cannot be asked"
  ),
  Command.withExamples([
    { command: "a2c server status", description: "The Server on this machine" },
    {
      command: "a2c server status https://a2c.example.org --token-file ~/.a2c-operator --watch",
      description: "A line every two seconds"
    }
  ])
)
