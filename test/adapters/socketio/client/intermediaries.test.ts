import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  A2cError,
  type ConnectedAgent,
  connectAgent,
  runComputer,
  type RunningComputer,
  runServer
} from "../../../../src/main/entrypoints/promise.ts"
import { type HttpProxy, openHttpProxy, type Page } from "./HttpProxy.ts"

const log = () => undefined

const startServer = Effect.acquireRelease(
  Effect.promise(() => runServer({ authenticate: "allowAll", log })),
  (server) => Effect.promise(() => server.close())
)

const openProxy = Effect.flatMap(startServer, ({ url }) => openHttpProxy(Number(new URL(url).port)))

const join = (role: string, { url }: HttpProxy) => {
  const place = { url, office: "o", name: "m", log }
  return Effect.acquireRelease(
    Effect.tryPromise({
      try: async (): Promise<ConnectedAgent | RunningComputer> =>
        role === "Agent" ? connectAgent(place) : runComputer({ ...place, config: { servers: {} } }),
      catch: (error) => (error instanceof A2cError ? error : new A2cError("internal", String(error)))
    }),
    (member) => Effect.promise(() => member.close())
  )
}

const html = "<html><body>Access denied by policy</body></html>"

const json = (what: string, status: number, body: object) => ({
  what,
  status,
  type: "application/json",
  body: JSON.stringify(body)
})

const kubernetesStatus = {
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  message: "services is forbidden",
  reason: "Forbidden",
  details: { kind: "services" },
  code: 403
}

const pages: ReadonlyArray<Page & { readonly what: string }> = [
  { what: "a forbidden page", status: 403, type: "text/html", body: html },
  { what: "an empty 403", status: 403, type: "text/plain", body: "" },
  { what: "a login page", status: 401, type: "text/html", body: html },
  { what: "an error of an API gateway", status: 403, type: "application/json", body: '{"message":"Forbidden"}' },
  { what: "an error with a textual code", status: 403, type: "application/json", body: '{"code":"E","message":"no"}' },
  { what: "an error with another number", status: 403, type: "application/json", body: '{"code":1020,"message":"no"}' },
  json("a status of Kubernetes", 403, kubernetesStatus),
  json("an unauthorized status of Kubernetes", 401, { ...kubernetesStatus, reason: "Unauthorized", code: 401 }),
  json("an error of ESPv2", 401, { code: 401, message: "Jwt is missing" }),
  json("a forbidden page with its status as code", 403, { code: 403, message: "No grants" }),
  json("an error of grpc-gateway", 400, { code: 3, message: "type mismatch", details: [] }),
  json("an error of grpc-gateway without details", 400, { code: 5, message: "Not Found" }),
  json("an error with more than code and message", 403, { code: 403, message: "Origin not allowed", trace: "1" }),
  json("a message of a Server with another status", 401, { code: 403, message: "Origin not allowed" }),
  json("a quota of an API gateway", 400, { code: 400, message: "API key not valid" }),
  { what: "a nested error", status: 401, type: "application/json", body: '{"error":{"code":401,"message":"no"}}' },
  { what: "a proxy that asks for credentials", status: 407, type: "text/html", body: html },
  { what: "a missing page", status: 404, type: "text/html", body: html },
  { what: "a bad request", status: 400, type: "text/html", body: html },
  { what: "a legal block", status: 451, type: "text/html", body: html },
  { what: "a rate limit", status: 429, type: "text/plain", body: "slow down" },
  { what: "a bad gateway", status: 502, type: "text/html", body: html },
  { what: "a captive portal", status: 200, type: "text/html", body: html },
  { what: "a redirect to a login", status: 302, type: "text/html", body: "" }
]

describe("something that answers instead of the Server", () => {
  const rejoin = (role: string, page: Page) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      proxy.upgrades = page.status
      const member = yield* join(role, proxy)
      const opened = proxy.opened.length
      // The first one may be the upgrade of the open session.
      const isPassing = () => proxy.opened.length > opened + 2
      proxy.answer = () => (isPassing() ? undefined : page)
      proxy.closeAll()
      yield* Effect.promise(async () => {
        for await (const status of member.status()) {
          assert.notStrictEqual(status._tag, "Failed")
          if (status._tag === "Joined" && isPassing()) return
        }
      })
    }).pipe(Effect.scoped)

  describe("after a join", { concurrent: true }, () => {
    it.live.each(pages)("keeps a Computer through $what", (page) => rejoin("Computer", page), 60_000)

    it.live(
      "keeps an Agent through a forbidden page",
      () => rejoin("Agent", { status: 403, type: "text/html", body: html }),
      60_000
    )
  })

  it.live.each(pages.filter(({ status }) => status >= 400 && status < 500 && status !== 404))(
    "is named when the first connection gets $what",
    (page) =>
      Effect.gen(function* () {
        const proxy = yield* openProxy
        proxy.answer = () => page
        const error = yield* Effect.flip(join("Computer", proxy))
        assert.strictEqual(error.code, "unreachable")
        assert.include(error.message, `HTTP ${page.status} is the response of something in between`)
      })
  )

  it.live("is named when it answers with a page that is no error", () =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      proxy.answer = () => ({ status: 200, type: "text/html", body: html })
      const error = yield* Effect.flip(join("Computer", proxy))
      assert.include(error.message, "the response is of something in between")
    })
  )

  it.live.each([
    { code: 403, message: "Origin not allowed" },
    { code: 400, message: "Missing a2c_version query parameter" },
    { code: 400, message: "Invalid a2c_version: given more than once" },
    { code: 4008, message: "Protocol version mismatch" },
    { code: 3, message: "Bad request" },
    { code: 5, message: "Unsupported protocol version" }
  ])("is not the Server, whose rejection is final: $message", ({ code, message }) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      const member = yield* join("Computer", proxy)
      const status = code === 403 ? 403 : 400
      proxy.answer = () => json("", status, { code, message })
      proxy.upgrades = status
      proxy.closeAll()
      yield* Effect.promise(async () => {
        for await (const status of member.status()) {
          if (status._tag === "Failed") return assert.strictEqual(status.error.message, message)
        }
      })
    })
  )
})
