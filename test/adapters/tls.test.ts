import { createPrivateKey } from "node:crypto"
import { readFileSync } from "node:fs"
import { connect as connectTcp } from "node:net"
import tls from "node:tls"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { vi } from "vitest"
import { Context, Effect, Exit, Layer, Logger, Queue, Schedule, Scope, Stream } from "effect"
import * as MemoryCluster from "../../src/adapters/memory/MemoryCluster.ts"
import type * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import type { TlsIdentity } from "../../src/adapters/http/tlsServer.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { Server } from "../../src/application/server/lifecycle/Server.ts"
import { PROTOCOL_VERSION } from "../../src/domain/wire/lines.ts"
import { Authenticator } from "../../src/application/ports/Authenticator.ts"
import { Observability } from "../../src/application/server/observability/Observability.ts"
import { serverLayer } from "../../src/main/layers/serverLayer.ts"
import { temporaryFile } from "../main/processes.ts"
import { a2cInProcess } from "../main/cli/inProcess.ts"
import { connectLink } from "./socketio/links.ts"
import { type TestBody, liveWith } from "../testWith.ts"
import { AuditLog } from "../../src/application/ports/AuditLog.ts"

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/${name}.pem`, import.meta.url), "utf8")

/** A self-signed certificate for this machine. */
const identity = (name: "first" | "second" | "expired" | "otherHost"): TlsIdentity => ({
  cert: pem(`${name}.cert`),
  key: pem(`${name}.key`)
})
const [first, second, expired, otherHost] = [
  identity("first"),
  identity("second"),
  identity("expired"),
  identity("otherHost")
]

const serve = Effect.fnUntraced(function* (options: RelayServer.RelayServerOptions) {
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => void logs.push(JSON.stringify(message)))
  const context = yield* Server.layer.pipe(
    Layer.provide(RelayServer.layer(options)),
    Layer.provide(MemoryCluster.layer),
    Layer.provide(Logger.layer([logger])),
    Layer.provide([Authenticator.layerAllowAll, Observability.layerNone]),
    Layer.fresh,
    Layer.build
  )
  return { url: Context.get(context, Server).url, logs }
})

type Served = Effect.Success<ReturnType<typeof serve>>
const live = (title: string, options: RelayServer.RelayServerOptions, body: TestBody<Served>) =>
  liveWith(serve(options))(title, body)

const connect = (url: string, options: Partial<SocketIoClient.SocketIoClientOptions>) =>
  connectLink({ url, ...options }, { version: PROTOCOL_VERSION, auth: {} })

describe("a Server with a certificate", () => {
  for (const transport of ["polling", "websocket"] as const) {
    live(`accepts clients over ${transport} that trust its certificate`, { tls: first }, function* ({ url }) {
      assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/)
      const link = yield* connect(url, { transports: [transport], ca: first.cert })
      assert.notStrictEqual(link.id, "")
      for (const ca of [{}, { ca: second.cert }]) {
        const failure = yield* Effect.flip(connect(url, { transports: [transport], ...ca }))
        assert.deepInclude(failure, { _tag: "Unreachable", permanent: true, reason: "untrusted_certificate" })
        assert.strictEqual(failure.message, `Cannot reach ${url}: its certificate is not accepted: it is self-signed`)
      }
    })

    for (const [problem, certificate] of [
      ["it has expired", expired],
      ["it is for another host", otherHost]
    ] as const) {
      live(`is permanently unreachable over ${transport} when ${problem}`, { tls: certificate }, function* ({ url }) {
        const failure = yield* Effect.flip(connect(url, { transports: [transport], ca: certificate.cert }))
        assert.deepInclude(failure, { _tag: "Unreachable", permanent: true, reason: "invalid_certificate" })
        assert.strictEqual(failure.message, `Cannot reach ${url}: its certificate is not accepted: ${problem}`)
      })
    }

    live(
      `reports a rejection over ${transport} to clients that trust a private authority`,
      { tls: first },
      function* ({ url }) {
        const failure = yield* Effect.flip(connect(`${url}/elsewhere`, { transports: [transport], ca: first.cert }))
        assert.strictEqual(failure.message, `No A2C-SMCP server is at ${url}/elsewhere`)
      }
    )
  }

  live("trusts several authorities beside those of the platform", { tls: first }, function* ({ url }) {
    yield* connect(url, { ca: `# both\n${tls.rootCertificates[0]}\n${first.cert}` })
    const { createSecureContext, getCACertificates } = tls
    const given: Array<unknown> = []
    vi.spyOn(tls, "createSecureContext").mockImplementation((options) => {
      given.push(options?.ca)
      return createSecureContext(options)
    })
    yield* Effect.addFinalizer(() => Effect.sync(() => vi.restoreAllMocks()))
    yield* connect(url, { ca: first.cert })
    assert.deepInclude(given, [...getCACertificates("default"), first.cert.trim()])
  })

  it.live("fails for an option ca without certificates", () =>
    Effect.gen(function* () {
      for (const [ca, reason] of [
        ["none", "expected certificates as PEM"],
        [first.key ?? "", "expected certificates as PEM"],
        [`${first.cert}${first.cert.replace(/MII./, "AAAA")}`, "certificate 2 is invalid"]
      ] as const) {
        const failure = yield* Effect.flip(connect("https://127.0.0.1:9", { ca }))
        assert.deepInclude(failure, { _tag: "Unreachable", permanent: true })
        assert.strictEqual(failure.message, `Cannot reach https://127.0.0.1:9: the option ca: ${reason}`)
      }
    })
  )

  live("rejects clients without TLS", { tls: first }, function* ({ url }) {
    const failure = yield* Effect.flip(connect(url.replace("https", "http"), {}))
    assert.strictEqual(failure._tag, "Unreachable")
  })

  /** Waits until a log line has the text. */
  const hasLogged = (logs: ReadonlyArray<string>, text: string) =>
    Effect.repeat(
      Effect.sync(() => logs.some((line) => line.includes(text))),
      { until: (yes) => yes, schedule: Schedule.spaced("5 millis") }
    )

  it.live("uses a new certificate at once", () =>
    Effect.gen(function* () {
      const renewed = yield* Queue.unbounded<TlsIdentity>()
      const { logs, url } = yield* serve({ tls: { ...first, updates: Stream.fromQueue(renewed) } })
      const old = yield* connect(url, { ca: first.cert })
      yield* Queue.offer(renewed, second)
      yield* hasLogged(logs, "certificate reloaded")
      yield* connect(url, { ca: second.cert })
      yield* old.notify("server:update_desktop", jsonBody({ computer: "desk" }))
    })
  )

  const { cert, key } = first
  const encrypted = createPrivateKey(key).export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-128-cbc",
    passphrase: "p"
  })
  const invalid: ReadonlyArray<readonly [problem: string, identity: TlsIdentity, reason: string]> = [
    ["an empty certificate", { cert: "", key }, "the certificate is empty"],
    ["a certificate of white space", { cert: " \n\t", key }, "the certificate is empty"],
    ["an empty key", { cert, key: "" }, "the key is empty"],
    ["a key of white space", { cert, key: "\r\n" }, "the key is empty"],
    ["both empty", { cert: "", key: "" }, "the certificate is empty"],
    ["a key as certificate", { cert: key, key }, "the certificate is a private key"],
    ["a certificate as key", { cert, key: cert }, "the key is a certificate"],
    ["both exchanged", { cert: key, key: cert }, "the certificate is a private key"],
    ["a key of another certificate", { cert, key: second.key }, "the key does not match the certificate"],
    ["a chain in the wrong order", { cert: second.cert + cert, key }, "the key does not match the certificate"],
    ["other text", { cert: "none", key: "none" }, "not a PEM file"],
    ["another key text", { cert, key: "none" }, "the key is not PEM"],
    ["half a certificate", { cert: cert.slice(0, cert.length / 2), key }, "certificate 1 is invalid or incomplete"],
    [
      "half a second certificate",
      { cert: cert + second.cert.slice(0, 99), key },
      "certificate 2 is invalid or incomplete"
    ],
    ["a damaged certificate", { cert: cert.replace(/MII./, "AAAA"), key }, "certificate 1 is invalid or incomplete"],
    ["half a key", { cert, key: key.slice(0, key.length / 2) }, "the key is not PEM, is incomplete"],
    ["an encrypted key", { cert, key: encrypted.toString() }, "the key is encrypted"]
  ]

  it.live.each(invalid)("does not start with %s", ([, identity, reason]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(serve({ tls: identity }))
      assert.include(message, `Invalid certificate: ${reason}`)
    })
  )

  it.live.each(invalid)("keeps its certificate when it is given %s", ([, identity, reason]) =>
    Effect.gen(function* () {
      const renewed = yield* Queue.unbounded<TlsIdentity>()
      const { logs, url } = yield* serve({ tls: { ...first, updates: Stream.fromQueue(renewed) } })
      yield* Queue.offer(renewed, identity)
      yield* hasLogged(logs, reason)
      assert.include(logs.join(), "certificate reload failed, keeping the current certificate")
      yield* connect(url, { ca: first.cert })
      yield* Queue.offer(renewed, second)
      yield* hasLogged(logs, "certificate reloaded")
      yield* connect(url, { ca: second.cert })
    })
  )

  it.live.each([
    ["a chain", { cert: cert + second.cert, key }],
    ["text around the certificate", { cert: `subject=x\r\n${cert.replaceAll("\n", "\r\n")}`, key }],
    ["one text for both", { cert: key + cert, key: key + cert }]
  ] as const)("accepts %s", ([, identity]) =>
    Effect.gen(function* () {
      const { url } = yield* serve({ tls: identity })
      yield* connect(url, { ca: first.cert })
    }).pipe(Effect.scoped)
  )

  it.live("warns of an expired certificate at the start and at a reload, and uses it", () =>
    Effect.gen(function* () {
      const renewed = yield* Queue.unbounded<TlsIdentity>()
      const warning = "certificate outside its validity period"
      const { logs } = yield* serve({ tls: expired })
      assert.include(logs.join(), warning)
      const { logs: later } = yield* serve({ tls: { ...first, updates: Stream.fromQueue(renewed) } })
      assert.notInclude(later.join(), warning)
      yield* Queue.offer(renewed, expired)
      yield* hasLogged(later, "certificate reloaded")
      assert.include(later.join(), warning)
    })
  )

  // The test clock begins in 1970.
  it.effect("warns of a certificate that is not valid yet", () =>
    Effect.gen(function* () {
      const { logs } = yield* serve({ tls: first })
      assert.include(logs.join(), "certificate outside its validity period")
    })
  )

  it.live("closes without waiting for a silent connection", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { url } = yield* Scope.provide(serve({ tls: first }), scope)
      const { hostname, port } = new URL(url)
      const silent = yield* Effect.acquireRelease(
        Effect.sync(() => connectTcp({ host: hostname, port: Number(port) })),
        (socket) => Effect.sync(() => socket.destroy())
      )
      yield* Effect.callback<void>((resume) => void silent.once("connect", () => resume(Effect.void)))
      yield* connect(url, { ca: first.cert })
      yield* Scope.close(scope, Exit.void)
    })
  )
})

describe("a2c with a Server that has a certificate", () => {
  const tlsFile = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}.pem`, import.meta.url))

  it.live("trusts the authorities of --tls-ca", () =>
    Effect.gen(function* () {
      const wholeServer = serverLayer({ port: 0, tls: first }).pipe(
        Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone])
      )
      const { url } = Context.get(yield* Layer.build(wholeServer), Server)
      const trust = ["--tls-ca", tlsFile("first.cert")]
      const members = yield* a2cInProcess("agent", "--server", url, "--office", "o", ...trust, "--json", "members")
      assert.strictEqual(members.failure, undefined)
      assert.include(members.stdout, '"a2c-agent"')
      const status = yield* a2cInProcess("server", "status", url, ...trust, "--json")
      assert.strictEqual(status.failure, undefined)
      assert.include(status.stdout, '"state": "ready"')
    })
  )

  live("ends at a certificate that is not trusted, and names the flag", { tls: first }, function* ({ url }) {
    const problem = "its certificate is not accepted: it is self-signed; trust its authority by --tls-ca FILE"
    const place = ["--server", url, "--office", "o"]
    const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: {} }))
    for (const args of [
      ["agent", ...place, "members"],
      ["agent", ...place, "watch"],
      ["computer", ...place, "--config", config]
    ]) {
      const { failure } = yield* a2cInProcess(...args)
      assert.deepInclude(failure, { _tag: "CommandFailed", message: `Cannot reach ${url}: ${problem}` })
    }
    const status = yield* a2cInProcess("server", "status", url)
    assert.deepInclude(status.failure, { message: `The Server at ${url} cannot be reached: ${problem}` })
  })

  it.live("rejects a file of --tls-ca without certificates", () =>
    Effect.gen(function* () {
      const file = tlsFile("first.key")
      for (const args of [
        ["agent", "--office", "o", "--tls-ca", file, "members"],
        ["server", "status", "--tls-ca", file]
      ]) {
        const { failure } = yield* a2cInProcess(...args)
        assert.deepInclude(failure, { message: `--tls-ca: ${file}: expected certificates as PEM` })
      }
      const { failure } = yield* a2cInProcess("server", "status", "--tls-ca", "nowhere.pem")
      assert.deepInclude(failure, { message: "--tls-ca: nowhere.pem: file not found" })
    })
  )
})
