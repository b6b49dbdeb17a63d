import { generateKeyPairSync } from "node:crypto"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Exit, Redacted } from "effect"
import { SignJWT } from "jose"
import { makeAuthenticator } from "../../../../src/main/cli/server/authentication.ts"
import {
  type limitFlags,
  type ServerCommandOptions,
  serverFlags,
  toServerOptions
} from "../../../../src/main/cli/server/flags.ts"
import { handshake } from "../../../adapters/auth/handshakes.ts"
import { fileWriter, type FlagRow, type FlagRows, parserOf, testFlags } from "../flagRows.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const parse = parserOf(serverFlags)

const fileWith = fileWriter(folderOfTests())

type Options = Effect.Success<ReturnType<typeof toServerOptions>>

/** A row of a flag that leads to an option of the layers, beside other flags. */
const option = (
  args: ReadonlyArray<string>,
  outcomes: readonly [unknown, unknown],
  select: (options: Options) => unknown,
  beside: ReadonlyArray<string> = []
): FlagRow => [
  args,
  outcomes,
  (given) => Effect.map(Effect.flatMap(parse([...beside, ...given]), toServerOptions), select)
]

const authenticatorFor = (args: ReadonlyArray<string>) =>
  Effect.flatMap(parse(args), (options) => makeAuthenticator(options, false)).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: {} })),
    Effect.provide(NodeServices.layer)
  )

/** A row of a flag that makes a Server ask for credentials. */
const credentials = (...args: ReadonlyArray<string>): FlagRow => [
  args,
  [false, true],
  (given) => Effect.map(authenticatorFor(given), ({ requiresCredentials }) => requiresCredentials)
]

const secret = "a secret of thirty-two characters or more"

/** A row of a flag about tokens, which decides what a token without a claim `a2c` gets. */
const tokens = (args: ReadonlyArray<string>, outcomes: readonly [unknown, unknown]): FlagRow => [
  args,
  outcomes,
  Effect.fnUntraced(function* (given) {
    const file = fileWith("secret", secret)
    const { authenticate } = yield* authenticatorFor(["--jwt-secret-file", file, ...given])
    const token = yield* Effect.promise(() =>
      new SignJWT({ sub: "desk", iss: "idp", aud: "a2c", exp: Date.now() / 1000 + 60 })
        .setProtectedHeader({ alg: "HS256" })
        .sign(new TextEncoder().encode(secret))
    )
    return yield* Effect.match(authenticate(handshake({ auth: { token } })), {
      onFailure: ({ code }) => code,
      onSuccess: ({ grants }) => grants
    })
  })
]

const keyFile = JSON.stringify({
  keys: [{ subject: "desk", hash: `sha256:${"0".repeat(64)}`, rights: [], offices: [], names: [] }]
})
const noGrants = { rights: [], offices: [], names: [] }
const publicKey = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" })
const certificate = { cert: "cert.pem", key: "key.pem" }

const rows: FlagRows<ServerCommandOptions> = {
  // It is replaced by its flags before they are parsed; flagsFile.test.ts has its tests.
  config: [["--config", "a.yaml"], [undefined, "a.yaml"], (args) => Effect.map(parse(args), ({ config }) => config)],
  host: option(["--host", "10.0.0.1"], ["127.0.0.1", "10.0.0.1"], ({ layer }) => layer.host),
  port: option(["--port", "1"], [7070, 1], ({ layer }) => layer.port),
  paths: option(
    ["--path", "/one", "--path", "/two"],
    [
      ["/smcp", "/socket.io"],
      ["/one", "/two"]
    ],
    ({ layer }) => layer.paths
  ),
  maxMessageBytes: option(
    ["--max-message-bytes", "5000"],
    [16 * 1024 ** 2, 5000],
    ({ layer }) => layer.maxMessageBytes
  ),
  pingInterval: option(["--ping-interval", "7"], [10_000, 7000], ({ layer }) => layer.pingInterval),
  pingTimeout: option(["--ping-timeout", "7"], [20_000, 7000], ({ layer }) => layer.pingTimeout),
  allowedOrigins: option(
    ["--allow-origin", "https://a.example"],
    [[], ["https://a.example"]],
    ({ layer }) => layer.allowedOrigins
  ),
  engine: option(["--engine", "socket.io"], ["relay", "socket.io"], ({ layer }) => layer.engine),
  lines: option(
    ["--lines", "0.4,0.2"],
    [
      ["0.2", "0.3", "0.4"],
      ["0.4", "0.2"]
    ],
    ({ layer }) => layer.lines
  ),
  requireRole: option(["--require-role"], [false, true], ({ layer }) => layer.settings.requireRole),
  validate: option(["--validate"], [false, true], ({ layer }) => layer.validate),
  workers: [["--workers", "3"], [1, 3], (args) => Effect.map(parse(args), ({ workers }) => workers)],
  redis: option(
    ["--redis", "redis://a.example"],
    [undefined, "redis://a.example"],
    ({ layer }) => layer.redis && Redacted.value(layer.redis.url)
  ),
  redisPrefix: option(["--redis-prefix", "{b}"], ["{a2c}", "{b}"], ({ layer }) => layer.redis?.prefix, [
    "--redis",
    "redis://a"
  ]),
  nodeAddress: option(
    ["--node-address", "10.0.0.5:7072"],
    [undefined, { host: "10.0.0.5", port: 7072 }],
    ({ layer }) => layer.redis?.address,
    ["--redis", "redis://a"]
  ),
  page: option(["--no-page"], [{ apps: {} }, false], ({ layer }) => layer.page),
  pageBodies: option(["--page-bodies"], [{ apps: {} }, { apps: {}, bodies: {} }], ({ layer }) => layer.page),
  appOrigin: option(
    ["--app-origin", "https://b.example"],
    [{ apps: { port: 2 } }, { apps: { port: 2, origin: "https://b.example" } }],
    ({ layer }) => layer.page,
    ["--app-port", "2"]
  ),
  appPort: option(["--app-port", "2"], [{ apps: {} }, { apps: { port: 2 } }], ({ layer }) => layer.page),
  drainTimeout: option(["--drain-timeout", "7"], [10, 7], ({ layer }) =>
    Duration.toSeconds(layer.settings.drainTimeout)
  ),
  limits: option(["--max-connections", "7"], [10_000, 7], ({ layer }) => layer.limits.connections),
  apiKeys: credentials("--api-keys", fileWith("keys.json", keyFile)),
  jwtSecretFile: credentials("--jwt-secret-file", fileWith("secret", secret)),
  jwtPublicKey: credentials("--jwt-public-key", fileWith("public.pem", String(publicKey))),
  jwtJwks: credentials("--jwt-jwks", "https://idp.example/keys"),
  jwtIssuer: tokens(["--jwt-issuer", "other"], [noGrants, 401]),
  jwtAudience: tokens(["--jwt-audience", "other"], [noGrants, 401]),
  jwtRights: tokens(["--jwt-right", "agent"], [noGrants, { ...noGrants, rights: ["agent"] }]),
  jwtOffices: tokens(["--jwt-office", "team*"], [noGrants, { ...noGrants, offices: ["team*"] }]),
  jwtNames: tokens(["--jwt-name", "desk*"], [noGrants, { ...noGrants, names: ["desk*"] }]),
  insecure: [
    ["--insecure"],
    ["CommandFailed", false],
    (args) =>
      Effect.match(authenticatorFor(["--host", "0.0.0.0", ...args]), {
        onFailure: (error) => Object(error)._tag,
        onSuccess: ({ requiresCredentials }) => requiresCredentials
      })
  ],
  tlsCert: option(
    ["--tls-cert", certificate.cert, "--tls-key", certificate.key],
    [undefined, certificate],
    ({ tls }) => tls
  ),
  tlsKey: option(
    ["--tls-cert", certificate.cert, "--tls-key", "other.pem"],
    [undefined, { ...certificate, key: "other.pem" }],
    ({ tls }) => tls
  ),
  audit: option(["--audit", "a.log"], [undefined, "a.log"], ({ audit }) => audit?.file),
  auditMaxBytes: option(["--audit-max-bytes", "5000"], [128 * 1024 ** 2, 5000], ({ audit }) => audit?.maxBytes, [
    "--audit",
    "a.log"
  ]),
  auditKeep: option(["--audit-keep", "3"], [8, 3], ({ audit }) => audit?.keep, ["--audit", "a.log"])
}

describe("a flag of a2c server", () => {
  testFlags(rows)
})

/** The flag of each limit. */
const limitNames: { readonly [Name in keyof typeof limitFlags]: string } = {
  messagesPerSecond: "max-messages-per-second",
  messageBurst: "max-message-burst",
  callsPerAgent: "max-calls-per-agent",
  callsPerComputer: "max-calls-per-computer",
  connections: "max-connections",
  offices: "max-offices",
  membersPerOffice: "max-members-per-office",
  nameLength: "max-name-length",
  officeLength: "max-office-length",
  requestIdLength: "max-request-id-length",
  joinTimeout: "join-timeout",
  idleTimeout: "idle-timeout",
  notificationBacklogBytes: "max-notification-backlog",
  backlogBytes: "max-backlog",
  totalBacklogBytes: "max-total-backlog",
  totalIncompleteBytes: "max-total-incomplete",
  totalRequestBytes: "max-total-requests"
}

/** The limits that cannot be turned off. */
const alwaysLimited = ["nameLength", "officeLength", "requestIdLength"]

describe("a limit of a2c server", () => {
  it.effect.each(Object.entries(limitNames))("%s is set by --%s, and no other one", ([name, flag]) =>
    Effect.gen(function* () {
      const limitsOf = (args: ReadonlyArray<string>) =>
        Effect.map(Effect.flatMap(parse(args), toServerOptions), ({ layer }): object => layer.limits)
      const set = name.endsWith("Timeout") ? Duration.seconds(77) : 77
      assert.deepStrictEqual<object>(yield* limitsOf([`--${flag}`, "77"]), { ...(yield* limitsOf([])), [name]: set })
    })
  )

  it.effect.each(Object.entries(limitNames))("%s is unlimited by --%s 0, or must be larger", ([name, flag]) =>
    Effect.gen(function* () {
      const limit = Effect.map(
        Effect.flatMap(parse([`--${flag}`, "0"]), toServerOptions),
        ({ layer }): unknown => Object(layer.limits)[name]
      )
      if (alwaysLimited.includes(name)) return assert.isTrue(Exit.isFailure(yield* Effect.exit(limit)))
      assert.deepStrictEqual(yield* limit, name.endsWith("Timeout") ? Duration.infinity : Number.POSITIVE_INFINITY)
    })
  )
})

describe("flags of a2c server that need another one", () => {
  it.effect.each([
    ["--page-bodies", "--no-page"],
    ["--app-origin", "https://b.example"],
    ["--node-address", "10.0.0.5:7072"],
    ["--tls-cert", "cert.pem"],
    ["--tls-key", "key.pem"]
  ])("fail without it: %s %s", (args) =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.flatMap(parse(args), toServerOptions))
      assert.include(String(Object(error).message), args[0] ?? "")
    })
  )
})
