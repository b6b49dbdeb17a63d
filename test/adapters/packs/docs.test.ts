import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { browserTimeout, chromiumPath, launchChromium } from "../../programs/launchChromium.ts"
import { request, served } from "./served.ts"

describe("documentation page", () => {
  it.live.skipIf(chromiumPath === undefined)(
    "shows the operations in a browser, requests its own server only, and calls it",
    () =>
      Effect.gen(function* () {
        const { url } = yield* served({ key: Redacted.make("sesame") })
        const context = yield* launchChromium
        // The user types the key when the browser asks for a password.
        yield* Effect.promise(() => context.setHTTPCredentials({ username: "", password: "sesame" }))
        const page = yield* Effect.promise(() => context.newPage())
        const errors: Array<string> = []
        const requests = new Set<string>()
        page.on("pageerror", ({ message }) => errors.push(message))
        page.on("console", (line) => {
          if (line.type() === "error") errors.push(line.text())
        })
        page.on("request", (request) => requests.add(new URL(request.url()).origin))
        yield* Effect.promise(() => page.goto(`${url}/docs`, { waitUntil: "load" }))
        const operation = page.locator(".opblock-post", { has: page.locator('[data-path="/tools/echo"]') })
        yield* Effect.promise(() => operation.waitFor())
        yield* Effect.promise(async () => {
          await page.locator("button.authorize").first().click()
          await page.locator(".auth-container input").first().fill("sesame")
          await page.locator(".auth-container button.authorize").first().click()
          await page.locator("button.btn-done").first().click()
          await operation.locator(".opblock-summary-control").click()
          await operation.locator("button.try-out__btn").click()
          await operation.locator("textarea").fill('{"text":"from a page"}')
          await operation.locator("button.execute").click()
        })
        const answer = operation.locator(".live-responses-table .response .microlight").first()
        assert.include(yield* Effect.promise(() => answer.innerText()), "from a page")
        assert.include(yield* Effect.promise(() => operation.innerText()), "The tool echo")
        assert.deepStrictEqual(errors, [])
        assert.deepStrictEqual(
          [...requests].filter((origin) => origin.startsWith("http")),
          [url]
        )
      }),
    browserTimeout
  )

  it.live("runs no script except its own", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { headers } = yield* request(`${url}/docs`)
      const policy = headers.get("content-security-policy") ?? ""
      assert.match(policy, /default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}=';/)
      assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    })
  )
})
