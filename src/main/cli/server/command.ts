import { Config, Duration, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { defaultAuditRotation } from "../../../adapters/audit/AuditFile.ts"
import {
  defaultMaxMessageBytes,
  defaultPath,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes,
  maxConfigurableMessageBytes
} from "../../../adapters/socketio/limits.ts"
import { authenticationFlags, keyCommand } from "./authenticationFlags.ts"
import { repeatableOrCommaSeparated } from "../sharedFlags.ts"
import { limitFlags, toLimits } from "./limitFlags.ts"
import { withTelemetry } from "../globalFlags.ts"
import { statusCommand } from "./statusCommand.ts"

/** Is this what a browser sends as the origin of a page? Anything else would never match. */
const isOrigin = (text: string): boolean =>
  text === "*" || text === "null" || (URL.canParse(text) && new URL(text).origin === text)

const originHint = "an origin like https://example.org, or *"
const Origin = Schema.String.check(Schema.makeFilter((text) => isOrigin(text) || `Expected ${originHint}`))

/** The longest time that may pass between or after signs of life, in seconds. */
const maxPingSeconds = 300

const maxAuditFiles = 1000

/** A time that belongs to signs of life: whole seconds for operators, milliseconds for the Server. */
const pingFlag = (name: "ping-interval" | "ping-timeout", defaultMillis: number, description: string) => {
  const variable = `A2C_${name.toUpperCase().replace("-", "_")}`
  return Flag.Int(name).pipe(
    Flag.withMetavar("SECONDS"),
    Flag.withDescription(`${description} [env ${variable}; default: ${defaultMillis / 1000}]`),
    Flag.withFallbackConfig(Config.Int(variable)),
    Flag.withDefault(defaultMillis / 1000),
    Flag.filter(
      (time) => time >= 1 && time <= maxPingSeconds,
      () => `a number from 1 to ${maxPingSeconds}`
    ),
    Flag.map((time) => time * 1000)
  )
}

/** `a2c server`. */
export const serverCommand = Command.make(
  "server",
  {
    host: Flag.String("host").pipe(
      Flag.withDescription("address to listen on [env A2C_HOST; default: 127.0.0.1]"),
      Flag.withFallbackConfig(Config.String("A2C_HOST")),
      Flag.withDefault("127.0.0.1")
    ),
    port: Flag.Int("port").pipe(
      Flag.withDescription("port to listen on, 0 for a free one [env A2C_PORT; default: 7070]"),
      Flag.withFallbackConfig(Config.Int("A2C_PORT")),
      Flag.withDefault(7070),
      Flag.filter(
        (port) => port >= 0 && port <= 65535,
        () => "a port from 0 to 65535"
      )
    ),
    path: Flag.String("path").pipe(
      Flag.withDescription(`HTTP path of Socket.IO [env A2C_PATH; default: ${defaultPath}]`),
      Flag.withFallbackConfig(Config.String("A2C_PATH")),
      Flag.withDefault(defaultPath),
      Flag.filter(
        (path) => /^\/[^\s?#]*[^\s?#/]$/.test(path),
        () => "a path like /smcp, without a slash at its end"
      )
    ),
    maxMessageBytes: Flag.Int("max-message-bytes").pipe(
      Flag.withDescription(
        `largest message, in bytes [env A2C_MAX_MESSAGE_BYTES; default: ${defaultMaxMessageBytes}]`
      ),
      Flag.withFallbackConfig(Config.Int("A2C_MAX_MESSAGE_BYTES")),
      Flag.withDefault(defaultMaxMessageBytes),
      Flag.filter(
        (bytes) => bytes >= 1024 && bytes <= maxConfigurableMessageBytes,
        () => `a size from 1024 to ${maxConfigurableMessageBytes}`
      )
    ),
    pingInterval: pingFlag(
      "ping-interval",
      defaultPingInterval,
      "how often a member is asked for a sign of life"
    ),
    pingTimeout: pingFlag(
      "ping-timeout",
      defaultPingTimeout,
      "how long it has to give one; receiving one message may take clients of others as long"
    ),
    allowedOrigins: repeatableOrCommaSeparated(
      Flag.String("allow-origin").pipe(
        Flag.withMetavar("ORIGIN"),
        Flag.filter(isOrigin, () => originHint)
      ),
      Origin,
      "A2C_ALLOW_ORIGIN",
      "origin whose pages may connect, * for any"
    ),
    requireRole: Flag.Boolean("require-role").pipe(
      Flag.withDescription("refuse connections that do not state their role [env A2C_REQUIRE_ROLE]"),
      Flag.withFallbackConfig(Config.Boolean("A2C_REQUIRE_ROLE")),
      Flag.withDefault(false)
    ),
    validate: Flag.Boolean("validate").pipe(
      Flag.withDescription(
        `read every message in full before it is passed on, not only those up to ${defaultValidateBytes} bytes ` +
          "[env A2C_VALIDATE]"
      ),
      Flag.withFallbackConfig(Config.Boolean("A2C_VALIDATE")),
      Flag.withDefault(false)
    ),
    redis: Flag.Redacted("redis").pipe(
      Flag.withMetavar("URL"),
      Flag.withDescription(
        "Redis by which this Server shares its offices with others, like redis://host:6379; " +
          "a password is better given by the variable [env A2C_REDIS]"
      ),
      Flag.withFallbackConfig(Config.Redacted("A2C_REDIS")),
      Flag.optional
    ),
    redisPrefix: Flag.String("redis-prefix").pipe(
      Flag.withDescription(
        "what all keys and channels in Redis begin with: Servers with different ones share nothing " +
          "[env A2C_REDIS_PREFIX; default: {a2c}]"
      ),
      Flag.withFallbackConfig(Config.String("A2C_REDIS_PREFIX")),
      Flag.withDefault("{a2c}")
    ),
    drainSeconds: Flag.Int("grace").pipe(
      Flag.withMetavar("SECONDS"),
      Flag.withDescription(
        "how long calls under way may take to end when it is told to stop; a second signal ends it at once " +
          "[env A2C_GRACE; default: 10]"
      ),
      Flag.withFallbackConfig(Config.Int("A2C_GRACE")),
      Flag.withDefault(10),
      Flag.filter(
        (time) => time >= 0 && time <= 3600,
        () => "a number from 0 to 3600"
      )
    ),
    limits: limitFlags,
    ...authenticationFlags,
    audit: Flag.String("audit").pipe(
      Flag.withMetavar("FILE"),
      Flag.withDescription(
        "write who called what, and who came and went, to this file, a JSON object per line [env A2C_AUDIT]"
      ),
      Flag.withFallbackConfig(Config.String("A2C_AUDIT")),
      Flag.optional
    ),
    auditMaxBytes: Flag.Int("audit-max-bytes").pipe(
      Flag.withMetavar("BYTES"),
      Flag.withDescription(
        `begin a new file when one is as large [env A2C_AUDIT_MAX_BYTES; default: ${defaultAuditRotation.maxBytes}]`
      ),
      Flag.withFallbackConfig(Config.Int("A2C_AUDIT_MAX_BYTES")),
      Flag.filter(
        (bytes) => bytes >= 4096,
        () => "a size of at least 4096"
      ),
      Flag.withDefault(defaultAuditRotation.maxBytes)
    ),
    auditKeep: Flag.Int("audit-keep").pipe(
      Flag.withMetavar("NUMBER"),
      Flag.withDescription(
        `full files of the audit that are kept [env A2C_AUDIT_KEEP; default: ${defaultAuditRotation.keep}]`
      ),
      Flag.withFallbackConfig(Config.Int("A2C_AUDIT_KEEP")),
      Flag.filter(
        (files) => files >= 1 && files <= maxAuditFiles,
        () => `a number from 1 to ${maxAuditFiles}`
      ),
      Flag.withDefault(defaultAuditRotation.keep)
    )
  },
  Effect.fn(function* ({ drainSeconds, limits, ...options }) {
    const { runServer } = yield* Effect.promise(() => import("./runServer.ts"))
    return yield* runServer({
      ...options,
      limits: toLimits(limits),
      drainTimeout: Duration.seconds(drainSeconds)
    })
  })
).pipe(
  Command.withDescription("Run a Server: the place where Agents and Computers meet"),
  Command.withExamples([
    { command: "a2c server", description: "Listen on http://127.0.0.1:7070" },
    {
      command: "a2c server --redis redis://localhost:6379",
      description: "Share the offices with other Servers on the same Redis"
    },
    { command: "a2c server --port 0", description: "Listen on a free port and print it" },
    {
      command: "a2c server --host 0.0.0.0 --api-keys keys.json --tls-cert cert.pem --tls-key key.pem",
      description: "Listen for everybody, let in who has a key, and encrypt what they say"
    }
  ]),
  withTelemetry("a2c-server"),
  Command.withSubcommands([keyCommand, statusCommand])
)
