import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { lazyCommand } from "../lazyCommand.ts"
import { healthFlags, keyFlags, keyRules, serverFlags, serverRules, statusFlags, statusRules } from "./flags.ts"

const keyCommand = lazyCommand(
  "key",
  keyFlags,
  async () => (await import("./manageKeys.ts")).manageKeys,
  keyRules
).pipe(
  Command.withDescription(
    "Generate an API key: prints the key to stdout, its entry for --api-keys to stderr, or adds the entry to a file"
  ),
  Command.withExamples([
    {
      command: "a2c server key --subject desk --right computer --office team > desk.key",
      description: "A key for a Computer of the office 'team', for --token-file desk.key"
    },
    {
      command: "a2c server key --add keys.json --subject desk --right computer > desk.key",
      description: "The same for all offices, with its entry in keys.json"
    },
    { command: "a2c server key --list keys.json", description: "The keys of a file and their ids" },
    { command: "a2c server key --revoke keys.json desk", description: "Also ends the connections of this key" }
  ])
)

const statusCommand = lazyCommand(
  "status",
  statusFlags,
  async () => (await import("./showStatus.ts")).showStatus,
  statusRules
).pipe(
  Command.withDescription(
    "Show the status of a Server; exits with 2 when it is not ready, with 1 when the request fails"
  ),
  Command.withExamples([
    { command: "a2c server status", description: "The Server on this machine" },
    {
      command: "a2c server status https://a2c.example.org --token-file ~/.a2c-operator --watch",
      description: "A line every two seconds"
    }
  ])
)

const healthCommand = lazyCommand(
  "health",
  healthFlags,
  async () => (await import("./showStatus.ts")).checkHealth
).pipe(
  Command.withDescription(
    "Check that a Server accepts members, without credentials; exits with 2 when it is not ready, with 1 when the request fails"
  ),
  Command.withExamples([{ command: "a2c server health", description: "The Server on this machine, for health checks" }])
)

export const serverCommand = lazyCommand(
  "server",
  serverFlags,
  async () => (await import("./runServerCommand.ts")).runServerCommand,
  serverRules
).pipe(
  Command.withDescription("Run a Server: it connects Agents and Computers by offices"),
  Command.withExamples([
    { command: "a2c server", description: "Listen on http://127.0.0.1:7070" },
    {
      command: "a2c server --redis redis://localhost:6379",
      description: "Share the offices with other Servers on the same Redis"
    },
    { command: "a2c server --port 0", description: "Listen on a free port and print it" },
    {
      command: "a2c server --host 0.0.0.0 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
      description: "Listen on all addresses, require API keys, and encrypt the connections"
    }
  ]),
  withTelemetry("a2c-server"),
  Command.withSubcommands([keyCommand, statusCommand, healthCommand])
)
