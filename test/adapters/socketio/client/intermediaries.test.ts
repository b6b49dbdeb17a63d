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

const pages: ReadonlyArray<Page & { readonly what: string }> = [
  { what: "a forbidden page", status: 403, type: "text/html", body: html },
  { what: "an empty 403", status: 403, type: "text/plain", body: "" },
  { what: "a login page", status: 401, type: "text/html", body: html },
  { what: "an error of an API gateway", status: 403, type: "application/json", body: '{"message":"Forbidden"}' },
  { what: "an error with a textual code", status: 403, type: "application/json", body: '{"code":"E","message":"no"}' },
  { what: "an error with another number", status: 403, type: "application/json", body: '{"code":1020,"message":"no"}' },
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
      let answered = 0
      proxy.answer = () => (answered++ < 2 ? page : undefined)
      proxy.closeAll()
      yield* Effect.promise(async () => {
        for await (const status of member.status()) {
          assert.notStrictEqual(status._tag, "Failed")
          if (status._tag === "Joined" && answered >= 2) return
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
      }).pipe(Effect.scoped)
  )

  it.live("is named when it answers with a page that is no error", () =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      proxy.answer = () => ({ status: 200, type: "text/html", body: html })
      const error = yield* Effect.flip(join("Computer", proxy))
      assert.include(error.message, "the response is of something in between")
    }).pipe(Effect.scoped)
  )

  it.live.each(["Origin not allowed", "No grants"])("is not the Server, whose rejection is final: %s", (message) =>
    Effect.gen(function* () {
      const proxy = yield* openProxy
      const member = yield* join("Computer", proxy)
      proxy.answer = () => ({ status: 403, type: "application/json", body: JSON.stringify({ code: 403, message }) })
      proxy.upgrades = 403
      proxy.closeAll()
      yield* Effect.promise(async () => {
        for await (const status of member.status()) {
          if (status._tag === "Failed") return assert.strictEqual(status.error.message, message)
        }
      })
    }).pipe(Effect.scoped)
  )
})
