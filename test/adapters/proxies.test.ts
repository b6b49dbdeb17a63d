import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import http from "node:http"
import { inspect, promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../../src/adapters/socketio/RelayServer.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { makeProxy } from "./http/proxy.ts"
import { makeVictim } from "./http/victim.ts"
import { type Sender, senders } from "./requestSenders.ts"
import { connectLink, ignoreMessage, serveQueue } from "./socketio/links.ts"

type Environment = Record<string, string>

/** Sets the proxies of this process until the scope closes, as Node does at its start under `NODE_USE_ENV_PROXY=1`. */
const useProxies = (environment: Environment) =>
  Effect.acquireRelease(
    Effect.sync(() => http.setGlobalProxyFromEnv(environment)),
    (restore) => Effect.sync(restore)
  )

const forbid = (status = 403) => makeVictim((_, response) => void response.writeHead(status).end())

const pem = (name: string) => readFileSync(new URL(`../fixtures/tls/first.${name}.pem`, import.meta.url), "utf8")
const identity = { cert: pem("cert"), key: pem("key") }

const startServer = (options: RelayServer.RelayServerOptions = {}) =>
  Effect.map(serveQueue(RelayServer.layer(options)), ({ url }) => new URL(url))

describe("a proxy of the environment", () => {
  // Key sets need https beyond loopback.
  const named: ReadonlyArray<readonly [string, Sender]> = Object.entries(senders)
  it.live.each(named)("receives the requests of %s", ([name, { send, status }]) =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy
      const { port, requests } = yield* forbid(status)
      yield* useProxies({ http_proxy: proxy.url })
      const origin = `http://${name === "a key set" ? "localhost" : "peer.example"}:${port}`
      yield* Effect.exit(send(`${origin}/`, {}))
      assert.isNotEmpty(proxy.requests)
      assert.isTrue(
        proxy.requests.every((line) => line.includes(` ${origin}/`) || line.startsWith("CONNECT localhost:"))
      )
      assert.isNotEmpty(requests)
    })
  )

  it.live.each(named)("tunnels the requests of %s over TLS", ([, { send }]) =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy
      const { port } = yield* forbid()
      yield* useProxies({ https_proxy: proxy.url })
      yield* Effect.exit(send(`https://peer.example:${port}/`, {}))
      assert.deepStrictEqual([...new Set(proxy.requests)], [`CONNECT peer.example:${port}`])
    })
  )

  for (const transport of ["polling", "websocket"] as const) {
    it.live(`connects members over TLS by ${transport}`, () =>
      Effect.gen(function* () {
        const proxy = yield* makeProxy
        const { host, href } = yield* startServer({ tls: identity })
        yield* useProxies({ HTTPS_PROXY: proxy.url })
        yield* connectLink({ url: href, transports: [transport], ca: identity.cert })
        assert.deepStrictEqual([...new Set(proxy.requests)], [`CONNECT ${host}`])
      })
    )
  }

  it.live.each([
    ["HTTP_PROXY", "http", "127.0.0.1:1"],
    ["https_proxy", "https", "127.0.0.1:1"],
    ["HTTPS_PROXY", "https", "proxy.invalid:3128"]
  ] as const)("is named without its password when it is down: %s", ([variable, scheme, proxy]) =>
    Effect.gen(function* () {
      yield* useProxies({ [variable]: `http://user:sesame@${proxy}` })
      const { message } = yield* Effect.flip(connectLink({ url: `${scheme}://peer.example:9` }))
      assert.include(message, `: the proxy ${proxy}: `)
      assert.notInclude(message, "sesame")
    })
  )

  const unreachable = ["127.0.0.1:1", "proxy.invalid:3128"]
  it.live.each(named.flatMap(([name, sender]) => unreachable.map((proxy) => [name, proxy, sender] as const)))(
    "is named in the failure of %s when it is down: %s",
    ([, proxy, { send }]) =>
      Effect.gen(function* () {
        const lines: Array<unknown> = []
        const logger = Logger.layer([Logger.make(({ cause, message }) => void lines.push(message, cause))])
        for (const scheme of ["http", "https"]) {
          yield* useProxies({ [`${scheme}_proxy`]: `http://user:sesame@${proxy}` })
          const host = scheme === "http" ? "localhost" : "peer.example"
          lines.push(yield* Effect.exit(Effect.provide(send(`${scheme}://${host}:8443/`, {}), logger)))
          const texts = inspect(lines.splice(0), { depth: 20 })
          assert.match(
            texts,
            new RegExp(`the proxy ${proxy}: (connection refused|host name not found|DNS lookup failed)`)
          )
          assert.notInclude(texts, "sesame")
        }
      })
  )

  it.live("connects members by polling when it refuses upgrades", () =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy
      const { port } = yield* startServer()
      yield* useProxies({ HTTP_PROXY: proxy.url })
      const link = yield* connectLink({ url: `http://server.example:${port}` })
      assert.notStrictEqual(link.id, "")
      assert.match(proxy.requests[0] ?? "", /^GET http:\/\/server\.example:\d+\/smcp\/\?/)
    })
  )

  it.live.each(
    ["127.0.0.1", "*", "peer.example, 127.0.0.1", "127.0.0.1:PORT", "127.0.0.1-127.0.0.9"].flatMap((list) =>
      (["NO_PROXY", "no_proxy"] as const).map((variable) => [variable, list] as const)
    )
  )("receives nothing for the hosts of %s=%s", ([variable, list]) =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy
      const { port, requests, url } = yield* forbid()
      yield* useProxies({ HTTP_PROXY: proxy.url, [variable]: list.replace("PORT", String(port)) })
      for (const name of ["Streamable HTTP", "a member over polling", "a member over WebSocket"] as const) {
        yield* Effect.exit(senders[name].send(`${url}/`, {}))
      }
      assert.deepStrictEqual(proxy.requests, [])
      assert.isAtLeast(requests.length, 3)
    })
  )

  it.live("receives nothing on a Unix socket", () =>
    Effect.gen(function* () {
      const proxy = yield* makeProxy
      yield* useProxies({ HTTP_PROXY: proxy.url })
      const layer = SocketIoClient.layerOnSocket("/nonexistent/a2c.sock")
      yield* TransportClient.use(({ connect }) =>
        connect({ version: "0.2.0", auth: { role: "agent" }, onMessage: ignoreMessage })
      ).pipe(Effect.provide(layer), Effect.exit)
      assert.deepStrictEqual(proxy.requests, [])
    })
  )
})

describe("a process", () => {
  /** The requests at the proxy of a program that sends two kinds of requests. */
  const requestsOf = Effect.fnUntraced(function* (
    flags: ReadonlyArray<string>,
    environment: (proxy: string) => Environment
  ) {
    const proxy = yield* makeProxy
    const { url } = yield* forbid()
    const program = [...flags, "test/adapters/proxyClient.ts", `${url}/`, "Streamable HTTP", "a member over polling"]
    const env = { PATH: process.env["PATH"], ...environment(proxy.url) }
    yield* Effect.tryPromise(() => promisify(execFile)(process.execPath, program, { env }))
    return proxy.requests.length
  })

  const activations = {
    "NODE_USE_ENV_PROXY=1": [[], { NODE_USE_ENV_PROXY: "1" }],
    "--use-env-proxy": [["--use-env-proxy"], {}],
    "NODE_OPTIONS=--use-env-proxy": [[], { NODE_OPTIONS: "--use-env-proxy" }]
  } satisfies { readonly [name: string]: readonly [ReadonlyArray<string>, Environment] }

  it.live.each(Object.entries(activations))("uses proxies with %s", ([, [flags, environment]]) =>
    Effect.gen(function* () {
      assert.isAtLeast(yield* requestsOf(flags, (proxy) => ({ ...environment, http_proxy: proxy })), 2)
    })
  )

  it.live("uses no proxy without them", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* requestsOf([], (proxy) => ({ HTTP_PROXY: proxy })), 0)
    })
  )
})
