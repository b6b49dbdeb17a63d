import { availableParallelism } from "node:os"
import { Duration, Effect, Record } from "effect"
import { type Command, Flag } from "effect/cli"
import { defaultAuditRotation } from "../../../adapters/audit/AuditFile.ts"
import {
  defaultMaxMessageBytes,
  defaultPaths,
  defaultPingInterval,
  defaultPingTimeout,
  defaultValidateBytes,
  maxConfigurableMessageBytes
} from "../../../adapters/socketio/limits.ts"
import { memoryShares } from "../../../adapters/process/memoryLimits.ts"
import { type LimitRow, type Limits, limitRows, memoryLimitRows } from "../../../application/server/Limits.ts"
import { Right } from "../../../domain/model/Identity.ts"
import { Role } from "../../../domain/model/Membership.ts"
import { parseShortDuration } from "../../../domain/time/shortDuration.ts"
import { lineNames, parseLineNames } from "../../../domain/wire/lines.ts"
import { hasNoPassword } from "../flags/secretFlags.ts"
import {
  jsonFlag,
  listenHost,
  optionalWord,
  originsFlag,
  parseHostPort,
  serverUrl,
  tlsCa
} from "../flags/sharedFlags.ts"
import { between, flag, setting } from "../flags/setting.ts"
import { expectedOrigin, expectedPath, isSocketPath, parseOrigin } from "../../config/webAddress.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { failCommand } from "../../CommandFailed.ts"

/** A limit as operators set it: 0 for none, and times in whole seconds. */
const toLimit = (number: number, { metavar }: LimitRow): number | Duration.Duration => {
  const limit = number === 0 ? Number.POSITIVE_INFINITY : number
  return metavar === "SECONDS" ? Duration.seconds(limit) : limit
}

/** A default as operators set limits; the inverse of `toLimit`. */
const defaultOf = ({ byDefault }: LimitRow): number => {
  const number = Duration.isDuration(byDefault) ? Duration.toSeconds(byDefault) : byDefault
  return number === Number.POSITIVE_INFINITY ? 0 : number
}

const limitFlag = (row: LimitRow, more: { readonly default: number } | { readonly shown: string }) => {
  const { flag: name, help, max, metavar, min } = row
  const [accepts, expected] = between(min, max)
  const check = [accepts, min === 0 ? `a number up to ${max}, or 0 for no limit` : expected] as const
  const set: Flag.Flag<number | undefined> = setting.int(name, min === 0 ? `${help}, 0 for no limit` : help, {
    metavar,
    check,
    ...more
  })
  return Flag.map(set, (number) => (number === undefined ? undefined : toLimit(number, row)))
}

/** A limit that depends on the memory has no value unless it is set. */
export const limitFlags = {
  ...Record.map(limitRows, (row: LimitRow) => limitFlag(row, { default: defaultOf(row) })),
  ...Record.map(memoryLimitRows, (row, name) => limitFlag(row, { shown: `1/${memoryShares[name]} of the memory` }))
}

/** A keepalive time: whole seconds for operators, milliseconds for the Server. */
const pingFlag = (name: "ping-interval" | "ping-timeout", defaultMillis: number, help: string) =>
  Flag.map(
    setting.seconds(name, help, { default: Duration.millis(defaultMillis), check: between(1, 300) }),
    Duration.toMillis
  )

const notEmpty = [(text: string) => text !== "", "a text that is not empty"] as const
const claimText = { metavar: "TEXT", check: notEmpty }
const claimPattern = { metavar: "PATTERN", check: notEmpty }

/** More processes than any machine here has processors. */
const maxWorkers = 256

const parseWorkers = (text: string): number | undefined => {
  const count = text === "auto" ? Math.min(availableParallelism(), maxWorkers) : Number(text)
  return Number.isInteger(count) && count >= 1 && count <= maxWorkers ? count : undefined
}

export const configFlagName = "config"
export const configVariable = "A2C_SERVER_CONFIG"

export const serverFlags = {
  config: setting.file(
    configFlagName,
    "file with flags, YAML or JSON, as in 'port: 7070'; flags and variables take precedence",
    { env: configVariable }
  ),
  host: listenHost(setting),
  port: setting.port("port", "port to listen on; 0 picks a free port", { default: 7070 }),
  paths: setting.texts("path", "HTTP path of Socket.IO", {
    metavar: "PATH",
    default: defaultPaths,
    check: [isSocketPath, expectedPath]
  }),
  maxMessageBytes: setting.int("max-message-bytes", "maximum size of a message", {
    metavar: "BYTES",
    default: defaultMaxMessageBytes,
    check: between(1024, maxConfigurableMessageBytes)
  }),
  pingInterval: pingFlag("ping-interval", defaultPingInterval, "keepalive: time between two pings"),
  pingTimeout: pingFlag(
    "ping-timeout",
    defaultPingTimeout,
    "keepalive timeout: time to answer a ping; other clients may take as long to receive one message"
  ),
  allowedOrigins: originsFlag(setting, "origin whose pages may connect, * for any"),
  engine: setting.choice(
    "engine",
    "adapter of Socket.IO: 'relay' forwards bodies as bytes, 'socket.io' uses the package of that name",
    ["relay", "socket.io"],
    { default: "relay" }
  ),
  lines: setting.parsed(
    "lines",
    "protocol lines to serve, comma-separated; members of different lines never meet",
    [parseLineNames, `some of ${lineNames.join(",")}`],
    { metavar: "LINES", default: lineNames, shown: lineNames.join(",") }
  ),
  requireRole: setting.toggle("require-role", "reject connections that do not state their role"),
  validate: setting.toggle(
    "validate",
    `validate every message in full before routing it, not only those up to ${defaultValidateBytes} bytes`
  ),
  workers: setting.parsed(
    "workers",
    "processes that serve together at the port, 'auto' for one on each processor",
    [parseWorkers, `a number from 1 to ${maxWorkers}, or auto`],
    { metavar: "NUMBER", default: 1 }
  ),
  redis: setting.secret("redis", "URL of the Redis by which Servers share their offices, as redis://host:6379", {
    metavar: "URL|@FILE",
    isPublic: hasNoPassword
  }),
  redisPrefix: setting.text(
    "redis-prefix",
    "prefix of all keys and channels in Redis; Servers with different prefixes share nothing",
    { default: "{a2c}" }
  ),
  nodeAddress: setting.parsed(
    "node-address",
    "address where this Server listens for the others with the same Redis, which must reach it there; by default that by which it reaches Redis, and a free port",
    [(text) => parseHostPort(text, 0), "an address like 10.0.0.5:7072"],
    { metavar: "HOST:PORT" }
  ),
  page: setting.toggle("page", "serve the office page for operators at /office; --no-page serves none", {
    default: true
  }),
  pageBodies: setting.toggle(
    "page-bodies",
    "keep arguments and results of the latest calls for the office page while it is open; secrets are removed by name"
  ),
  appOrigin: setting.parsed(
    "app-origin",
    "origin at which browsers reach --app-port through a proxy, for apps of MCP servers on the office page; it must differ from that of the page",
    [parseOrigin, expectedOrigin],
    { metavar: "ORIGIN" }
  ),
  appPort: setting.port(
    "app-port",
    "port for apps of MCP servers on the office page, at the host of the Server; by default a free port of loopback"
  ),
  drainTimeout: setting.seconds(
    "drain-timeout",
    "time for in-flight calls to end on shutdown; a second signal ends the process at once",
    { default: Duration.seconds(10), check: between(0, 3600) }
  ),
  limits: limitFlags,
  // Secrets of authentication have no flags: other processes can read the arguments of a process.
  apiKeys: setting.file(
    "api-keys",
    "file with the API keys of members, reloaded when it changes; A2C_API_KEYS takes keys as NAME=KEY,NAME=KEY",
    { env: "A2C_API_KEYS_FILE" }
  ),
  jwtSecretFile: setting.file(
    "jwt-secret-file",
    "accept JWTs signed with the secret in this file, or in A2C_JWT_SECRET (HS256)"
  ),
  jwtPublicKey: setting.file(
    "jwt-public-key",
    "accept JWTs signed with the private key of this public key, PEM or JWK"
  ),
  jwtJwks: setting.url("jwt-jwks", "accept JWTs of an identity provider that publishes its keys at this URL"),
  jwtIssuer: setting.text("jwt-issuer", "value that the claim 'iss' of JWTs must have", claimText),
  jwtAudience: setting.text("jwt-audience", "value that the claim 'aud' of JWTs must contain", claimText),
  jwtRights: setting.choices("jwt-right", "right of JWTs without a claim 'a2c'", Right.literals, { shown: "none" }),
  jwtOffices: setting.texts("jwt-office", "office that such JWTs may join: 'team*'", claimPattern),
  jwtNames: setting.texts("jwt-name", "member name that such JWTs permit: 'team*'", claimPattern),
  insecure: setting.toggle("insecure", "disable authentication on an address that other machines reach"),
  tlsCert: setting.file("tls-cert", "serve TLS with this certificate, PEM, reloaded when it changes"),
  tlsKey: setting.file("tls-key", "the private key of the certificate, PEM"),
  audit: setting.file("audit", "audit log: writes every call, join and leave to this file, one JSON object per line"),
  auditMaxBytes: setting.int("audit-max-bytes", "size at which the audit log is rotated", {
    metavar: "BYTES",
    default: defaultAuditRotation.maxBytes,
    check: between(4096)
  }),
  auditKeep: setting.int("audit-keep", "rotated audit logs to keep", {
    metavar: "NUMBER",
    default: defaultAuditRotation.keep,
    check: between(1, 1000)
  })
}
export type ServerCommandOptions = Command.Command.Config.Infer<typeof serverFlags>

export const keyFlags = {
  add: flag.file("add", "add the entry to this file of keys, which is created if necessary"),
  list: flag.file("list", "list the keys of this file"),
  revoke: flag.file("revoke", "remove a key from this file, by its subject or id"),
  key: optionalWord("key", "with --revoke: the subject of the key, or its id in --list"),
  subject: flag.text("subject", "subject of the key, for the log", { metavar: "NAME", default: "member" }),
  rights: flag.choices("right", "right that the key grants", Right.literals, { default: ["agent", "computer"] }),
  offices: flag.texts("office", "office that the key opens: 'team*'", {
    metavar: "PATTERN",
    default: ["*"],
    shown: "all"
  }),
  names: flag.texts("name", "member name that the key permits: 'team*'", {
    metavar: "PATTERN",
    default: ["*"],
    shown: "any"
  }),
  expires: flag.text("expires", "end of validity: 2030-01-31 or 2030-01-31T12:00:00Z", {
    metavar: "MOMENT",
    shown: "never"
  })
}
export type KeyCommandOptions = Command.Command.Config.Infer<typeof keyFlags>

export const tokenFlags = {
  office: flag.text("office", "office that the token opens", { metavar: "ID", required: true }),
  role: flag.choice("role", "role of the member", Role.literals, { default: "computer" }),
  name: flag.text("name", "name of the member", { metavar: "NAME", required: true }),
  ttl: flag.parsed("ttl", "validity, at most 1d", [parseShortDuration, "a time like 90s, 10m or 2h"], {
    metavar: "TIME",
    shown: "10m"
  }),
  subject: flag.text("subject", "subject of the token, for the log and takeovers", { metavar: "NAME", shown: "NAME" }),
  jwtSecretFile: setting.file("jwt-secret-file", "sign with the Server's secret in this file, or in A2C_JWT_SECRET"),
  jwtPrivateKey: setting.file("jwt-private-key", "sign with the private key of the Server's public key, PEM or JWK"),
  jwtIssuer: setting.text("jwt-issuer", "claim 'iss' that the Server requires", claimText),
  jwtAudience: setting.text("jwt-audience", "claim 'aud' that the Server requires", claimText),
  json: jsonFlag
}
export type TokenCommandOptions = Command.Command.Config.Infer<typeof tokenFlags>

export const keyContents = ["subject", "rights", "offices", "names", "expires"] as const

const target = { url: optionalWord("url", "URL of the Server, as with --server"), server: serverUrl }

export const healthFlags = { ...target, tlsCa }
export type HealthCommandOptions = Command.Command.Config.Infer<typeof healthFlags>

export const statusFlags = {
  ...target,
  tokenFile: setting.file("token-file", "file with the token of an operator and nothing else"),
  tlsCa,
  listOffices: flag.toggle("offices", "list the offices by name"),
  json: jsonFlag,
  watch: flag.toggle("watch", "show the status every two seconds until Ctrl-C; in a pipe, a line of it")
}
export type StatusCommandOptions = Command.Command.Config.Infer<typeof statusFlags>

const tlsFiles = Effect.fnUntraced(function* ({ tlsCert: cert, tlsKey: key }: ServerCommandOptions) {
  if (cert !== undefined && key !== undefined) return { cert, key }
  if (cert === undefined && key === undefined) return undefined
  return yield* failCommand("A certificate needs its key: give --tls-cert and --tls-key together")
})

/** The options of the layers for the flags of `a2c server`, except those of the authenticator. */
export const toServerOptions = Effect.fnUntraced(function* (options: ServerCommandOptions) {
  const { audit: file, auditKeep: keep, auditMaxBytes: maxBytes, ...others } = options
  const { appOrigin, appPort, drainTimeout, limits, nodeAddress, page, pageBodies, redis, ...more } = others
  const { redisPrefix: prefix, requireRole, workers: _, ...transport } = more
  if (pageBodies && !page) return yield* failCommand("--page-bodies needs the office page: remove --no-page")
  if (appOrigin !== undefined && appPort === undefined) return yield* failCommand("--app-origin needs --app-port")
  if (nodeAddress !== undefined && redis === undefined) return yield* failCommand("--node-address needs --redis")
  return {
    layer: {
      ...transport,
      limits: definedOnly(limits) as Partial<Limits>,
      settings: { requireRole, drainTimeout },
      page: page && { ...(pageBodies && { bodies: {} }), apps: definedOnly({ origin: appOrigin, port: appPort }) },
      ...definedOnly({ redis: redis && { url: redis, prefix, ...definedOnly({ address: nodeAddress }) } })
    },
    tls: yield* tlsFiles(options),
    audit: file === undefined ? undefined : { file, keep, maxBytes }
  }
})

export type PreparedOptions = Effect.Success<ReturnType<typeof toServerOptions>>
