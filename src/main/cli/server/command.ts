import { Command } from "effect/cli"
import { withTelemetry } from "../flags/globalFlags.ts"
import { lazyCommand } from "../lazyCommand.ts"
import { healthFlags, keyContents, keyFlags, serverFlags, statusFlags, tokenFlags } from "./flags.ts"

const keyCommand = lazyCommand("key", keyFlags, async () => (await import("./manageKeys.ts")).manageKeys, {
  description:
    "Generate an API key: prints the key to stdout, its entry for --api-keys to stderr, or adds the entry to a file",
  rules: [
    { flags: keyContents, rule: "not with --list", isMet: ({ list }) => list === undefined },
    { flags: keyContents, rule: "not with --revoke", isMet: ({ revoke }) => revoke === undefined }
  ],
  examples: {
    "a2c server key --subject desk --right computer --office team > desk.key":
      "A key for a Computer of the office 'team', for --token-file desk.key",
    "a2c server key --add keys.json --subject desk --right computer > desk.key":
      "The same for all offices, with its entry in keys.json",
    "a2c server key --list keys.json": "The keys of a file and their ids",
    "a2c server key --revoke keys.json desk": "Also ends the connections of this key"
  }
})

const tokenCommand = lazyCommand("token", tokenFlags, async () => (await import("./printToken.ts")).printToken, {
  description: "Sign a short-lived token (JWT) for one member, as for a page in a browser, and print it",
  examples: {
    "a2c server token --office team --name page --jwt-secret-file jwt.secret":
      "For the Computer 'page', at a Server with the same --jwt-secret-file"
  }
})

const statusCommand = lazyCommand("status", statusFlags, async () => (await import("./showStatus.ts")).showStatus, {
  description: "Show the status of a Server; exits with 2 when it is not ready, with 1 when the request fails",
  examples: {
    "a2c server status": "The Server on this machine",
    "a2c server status https://a2c.example.org --token-file ~/.a2c-operator --watch":
      "The status again every two seconds"
  }
})

const healthCommand = lazyCommand("health", healthFlags, async () => (await import("./showStatus.ts")).checkHealth, {
  description:
    "Check that a Server accepts members, without credentials; exits with 2 when it is not ready, with 1 when the request fails",
  examples: { "a2c server health": "The Server on this machine, for health checks" }
})

export const serverCommand = lazyCommand(
  "server",
  serverFlags,
  async () => (await import("./runServerCommand.ts")).runServerCommand,
  {
    description: "Run a Server: it connects Agents and Computers by offices",
    groups: {
      access: [
        "apiKeys",
        "jwtSecretFile",
        "jwtPublicKey",
        "jwtJwks",
        "jwtIssuer",
        "jwtAudience",
        "jwtRights",
        "jwtOffices",
        "jwtNames",
        "insecure",
        "allowedOrigins"
      ],
      encryption: ["tlsCert", "tlsKey"],
      "office page": ["page", "pageBodies", "appOrigin", "appPort"],
      "audit log": ["audit", "auditMaxBytes", "auditKeep"],
      "several Servers": ["redis", "redisPrefix", "nodeAddress"],
      protocol: ["lines", "requireRole", "validate", "engine", "paths", "pingInterval", "pingTimeout"],
      limits: ["maxMessageBytes", "limits"]
    },
    rules: [
      { flags: ["redisPrefix"], rule: "only with --redis", isMet: ({ redis }) => redis !== undefined },
      { flags: ["appPort", "appOrigin"], rule: "not with --no-page", isMet: ({ page }) => page },
      { flags: ["insecure"], rule: "not with --api-keys", isMet: ({ apiKeys }) => apiKeys === undefined },
      { flags: ["insecure"], rule: "not with --jwt-secret-file", isMet: ({ jwtSecretFile: key }) => key === undefined },
      { flags: ["insecure"], rule: "not with --jwt-public-key", isMet: ({ jwtPublicKey: key }) => key === undefined },
      { flags: ["insecure"], rule: "not with --jwt-jwks", isMet: ({ jwtJwks: keys }) => keys === undefined },
      { flags: ["auditMaxBytes", "auditKeep"], rule: "only with --audit", isMet: ({ audit }) => audit !== undefined }
    ],
    examples: {
      "a2c server": "Listen on http://127.0.0.1:7070",
      "a2c server --redis redis://localhost:6379": "Share the offices with other Servers on the same Redis",
      "a2c server --port 0": "Listen on a free port and print it",
      "a2c server --host 0.0.0.0 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem":
        "Listen on all addresses, require API keys, and encrypt the connections"
    }
  }
).pipe(withTelemetry("a2c-server"), Command.withSubcommands([keyCommand, tokenCommand, statusCommand, healthCommand]))
