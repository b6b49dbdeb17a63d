import { Config, Duration } from "effect"
import { Argument, type Command, Flag } from "effect/cli"

import { defaultAuditRotation } from "../../../adapters/audit/auditRotation.ts"
import {
  defaultMaxMessageBytes,
  defaultPath,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes,
  maxConfigurableMessageBytes
} from "../../../adapters/socketio/limits.ts"
import { Right } from "../../../domain/model/Identity.ts"
import { between, flag, setting } from "../setting.ts"
import { defaultServerUrl, jsonFlag } from "../sharedFlags.ts"
import { authenticationFlags } from "./authenticationFlags.ts"
import { limitFlags } from "./limitFlags.ts"

/** A browser sends origins in this form only; another text would never match. */
const isOrigin = (text: string): boolean =>
  text === "*" || text === "null" || (URL.canParse(text) && new URL(text).origin === text)

/** A keepalive time: whole seconds for operators, milliseconds for the Server. */
const pingFlag = (name: "ping-interval" | "ping-timeout", defaultMillis: number, help: string) =>
  Flag.map(
    setting.int(name, {
      metavar: "SECONDS",
      help,
      default: defaultMillis / 1000,
      check: between(1, 300)
    }),
    (seconds) => seconds * 1000
  )

/** The flags of `a2c server`. */
export const serverFlags = {
  host: setting.text("host", { help: "address to listen on", default: "127.0.0.1" }),
  port: setting.port("port", { help: "port to listen on; 0 picks a free port", default: 7070 }),
  path: setting.text("path", {
    help: "HTTP path of Socket.IO",
    default: defaultPath,
    check: [(path) => /^\/[^\s?#]*[^\s?#/]$/.test(path), "a path like /smcp, without a slash at its end"]
  }),
  maxMessageBytes: setting.int("max-message-bytes", {
    metavar: "BYTES",
    help: "maximum size of a message",
    default: defaultMaxMessageBytes,
    check: between(1024, maxConfigurableMessageBytes)
  }),
  pingInterval: pingFlag("ping-interval", defaultPingInterval, "keepalive: time between two pings"),
  pingTimeout: pingFlag(
    "ping-timeout",
    defaultPingTimeout,
    "keepalive timeout: time to answer a ping; other clients may take as long to receive one message"
  ),
  allowedOrigins: setting.texts("allow-origin", {
    metavar: "ORIGIN",
    help: "origin whose pages may connect, * for any",
    check: [isOrigin, "an origin like https://example.org, or *"]
  }),
  requireRole: setting.toggle("require-role", {
    help: "reject connections that do not state their role",
    default: false
  }),
  validate: setting.toggle("validate", {
    help: `validate every message in full before routing it, not only those up to ${defaultValidateBytes} bytes`,
    default: false
  }),
  redis: setting.secret("redis", {
    metavar: "URL",
    help: "Redis by which Servers share their offices, as redis://host:6379; set a password by the variable",
    default: undefined
  }),
  redisPrefix: setting.text("redis-prefix", {
    help: "prefix of all keys and channels in Redis; Servers with different prefixes share nothing",
    default: "{a2c}"
  }),
  drainTimeout: setting.seconds("grace", {
    help: "drain timeout: time for in-flight calls to end on shutdown; a second signal ends the process at once",
    default: Duration.seconds(10),
    check: between(0, 3600)
  }),
  limits: limitFlags,
  ...authenticationFlags,
  audit: setting.text("audit", {
    metavar: "FILE",
    help: "audit log: writes every call, join and leave to this file, one JSON object per line",
    default: undefined
  }),
  auditMaxBytes: setting.int("audit-max-bytes", {
    metavar: "BYTES",
    help: "size at which the audit log is rotated",
    default: defaultAuditRotation.maxBytes,
    check: between(4096)
  }),
  auditKeep: setting.int("audit-keep", {
    metavar: "NUMBER",
    help: "rotated audit logs to keep",
    default: defaultAuditRotation.keep,
    check: between(1, 1000)
  })
}

export type ServerCommandOptions = Command.Command.Config.Infer<typeof serverFlags>

/** The flags of `a2c server key`. */
export const keyFlags = {
  subject: flag.text("subject", {
    metavar: "NAME",
    help: "subject of the key, for the log",
    default: "member"
  }),
  rights: flag.choices("right", Right.literals, {
    help: "right that the key grants",
    default: ["agent", "computer"]
  }),
  offices: flag.texts("office", {
    metavar: "PATTERN",
    help: "office that the key opens: 'team*'",
    default: ["*"],
    shown: "all"
  }),
  names: flag.texts("name", {
    metavar: "PATTERN",
    help: "member name that the key permits: 'team*'",
    default: ["*"],
    shown: "any"
  }),
  expires: flag.text("expires", {
    metavar: "MOMENT",
    help: "end of validity: 2030-01-31 or 2030-01-31T12:00:00Z",
    default: undefined,
    shown: "never"
  })
}

export type KeyCommandOptions = Command.Command.Config.Infer<typeof keyFlags>

/** The arguments and flags of `a2c server status`. */
export const statusFlags = {
  url: Argument.String("url").pipe(
    Argument.withDescription(`URL of the Server [env A2C_SERVER; default: ${defaultServerUrl}]`),
    Argument.withFallbackConfig(Config.String("A2C_SERVER")),
    Argument.withDefault(defaultServerUrl)
  ),
  tokenFile: setting.text("token-file", {
    metavar: "FILE",
    help: "file with the token of an operator and nothing else",
    default: undefined
  }),
  listOffices: flag.toggle("offices", { help: "list the offices by name", default: false }),
  json: jsonFlag,
  watch: flag.toggle("watch", { help: "print a line every two seconds until Ctrl-C", default: false })
}

export type StatusCommandOptions = Command.Command.Config.Infer<typeof statusFlags>
