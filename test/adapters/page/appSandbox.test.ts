import { writeFileSync } from "node:fs"
import { type AddressInfo, createServer, type Server } from "node:net"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, References } from "effect"
import { type AppSandboxOptions, serveAppSandbox } from "../../../src/adapters/page/appSandbox.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const folder = Effect.tap(temporaryFolder, (made) =>
  Effect.sync(() => writeFileSync(join(made, "sandbox.html"), "<p>sandbox</p>"))
)

const serve = Effect.fnUntraced(function* (options: Partial<AppSandboxOptions> = {}) {
  const { originFor } = yield* serveAppSandbox({ assets: yield* folder, ...options })
  const origin = originFor({ host: "localhost:7070" }) ?? ""
  const get = (path: string, init: RequestInit = {}) => Effect.promise(() => fetch(`${origin}${path}`, init))
  return { get, originFor }
})

const query = (page: string, csp: unknown = {}) =>
  `/?${new URLSearchParams({ page, csp: JSON.stringify(csp) }).toString()}`

describe("sandbox of apps", () => {
  it.live("serves its page under the policy of the app", () =>
    Effect.gen(function* () {
      const { get } = yield* serve()
      const response = yield* get(query("http://localhost:7070", { connectDomains: ["https://a.example", "*"] }))
      const policy = response.headers.get("content-security-policy") ?? ""
      assert.strictEqual(response.status, 200)
      assert.strictEqual(yield* Effect.promise(() => response.text()), "<p>sandbox</p>")
      assert.include(policy, "default-src 'none'")
      assert.include(policy, "connect-src https://a.example;")
      assert.include(policy, "frame-ancestors http://localhost:7070")
      assert.include(response.headers.get("permissions-policy") ?? "", "camera=()")
      assert.isNull(response.headers.get("set-cookie"))
    })
  )

  it.live("serves nothing else", () =>
    Effect.gen(function* () {
      const { get } = yield* serve()
      for (const path of [
        "/",
        query("null"),
        query("*"),
        query("javascript:alert(1)"),
        query("http://localhost:7070/path"),
        query("http://localhost:7070; script-src *"),
        "/office",
        "/sandbox.html?page=http://localhost:7070"
      ]) {
        assert.strictEqual((yield* get(path)).status, 404, path)
      }
      assert.strictEqual((yield* get(query("http://localhost:7070"), { method: "POST" })).status, 404)
    })
  )

  it.live("is at another host than a page on loopback, and at none for other pages", () =>
    Effect.gen(function* () {
      const { originFor } = yield* serve()
      assert.match(originFor({ host: "localhost:7070" }) ?? "", /^http:\/\/127\.0\.0\.1:\d+$/)
      for (const host of ["127.0.0.1:7070", "[::1]:7070"])
        assert.match(originFor({ host }) ?? "", /^http:\/\/localhost:\d+$/)
      for (const host of ["office.example", "10.0.0.5:7070", ""]) assert.isUndefined(originFor({ host }))
    })
  )

  const hasIpv6 = Object.values(networkInterfaces()).some((all = []) => all.some(({ address }) => address === "::1"))
  const loopback = ["127.0.0.1", ...(hasIpv6 ? ["::1"] : [])]

  /** Listens like another program, on a free port by default; gives the port, or the code of the error. */
  const occupy = (host: string, port = 0) =>
    Effect.acquireRelease(
      Effect.callback<{ readonly server: Server; readonly outcome: number | string }>((resume) => {
        const server = createServer()
        server.on("error", ({ code }: NodeJS.ErrnoException) =>
          resume(Effect.succeed({ server, outcome: code ?? "error" }))
        )
        server.listen(port, host, () => {
          const outcome = (server.address() as AddressInfo).port
          resume(Effect.succeed({ server, outcome }))
        })
      }),
      ({ server }) => Effect.sync(() => void server.close())
    ).pipe(Effect.map(({ outcome }) => outcome))

  const portOf = (origin: string | undefined) => Number(URL.parse(origin ?? "")?.port)

  it.live.each([
    [undefined],
    ["127.0.0.1"],
    ["localhost"],
    ["0.0.0.0"],
    ...(hasIpv6 ? [["::1"] as const, ["::"] as const] : [])
  ])("leaves no loopback address of its port to other programs, with the host %s", ([host]) =>
    Effect.gen(function* () {
      const { originFor } = yield* serve(host === undefined ? {} : { host })
      const port = portOf(originFor({ host: "127.0.0.1:7070" }))
      for (const address of loopback) {
        assert.strictEqual(yield* occupy(address, port), "EADDRINUSE", address)
        const name = address.includes(":") ? `[${address}]` : address
        const response = yield* Effect.promise(() => fetch(`http://${name}:${port}${query("http://127.0.0.1:7070")}`))
        assert.strictEqual(yield* Effect.promise(() => response.text()), "<p>sandbox</p>", address)
      }
    })
  )

  it.live.each(loopback.flatMap((address) => loopback.map((host) => [address, host] as const)))(
    "fails when its port at %s belongs to another program, with the host %s",
    ([address, host]) =>
      Effect.gen(function* () {
        const port = yield* occupy(address)
        const failure = yield* Effect.flip(serveAppSandbox({ assets: "", host, port: Number(port) }))
        assert.include(failure.message, `${address}:${port}: `)
        // Nothing remains at the other address.
        for (const other of loopback.filter((one) => one !== address)) {
          assert.strictEqual(yield* occupy(other, Number(port)), port)
        }
      })
  )

  it.live("is at its host alone behind the origin that the operator configures", () =>
    Effect.gen(function* () {
      const port = Number(yield* occupy(loopback.at(-1) ?? ""))
      if (!hasIpv6) return
      const { originFor } = yield* serveAppSandbox({ assets: "", port, origin: "https://apps.example" })
      assert.strictEqual(originFor({ host: "office.example" }), "https://apps.example")
    })
  )

  it.live("is at the origin that the operator configures, unless it is that of the page", () =>
    Effect.gen(function* () {
      const { originFor } = yield* serveAppSandbox({ assets: "", port: 0, origin: "https://apps.example" })
      assert.strictEqual(originFor({ host: "office.example" }), "https://apps.example")
      assert.isUndefined(originFor({ host: "apps.example" }))
    })
  )

  it.live("fails for a configured port in use, and shows no apps when it has none", () =>
    Effect.gen(function* () {
      const { originFor } = yield* serve()
      const port = Number(URL.parse(originFor({ host: "localhost" }) ?? "")?.port)
      const failure = yield* Effect.flip(serveAppSandbox({ assets: "", port }))
      assert.include(failure.message, `127.0.0.1:${port}`)
      const none = yield* serveAppSandbox({ assets: "", host: "203.0.113.1" })
      assert.isUndefined(none.originFor({ host: "localhost" }))
    }).pipe(Effect.provideService(References.MinimumLogLevel, "None"), Effect.scoped)
  )
})
