import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { chromium } from "playwright-core"
import { ask, served } from "./served.ts"

const program = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

/** Start timeout of Chromium on a busy machine, in milliseconds. */
const testTimeout = 60_000

/** Disables background activity of the browser. */
const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** A separate browser, closed with the scope. */
const browser = Effect.gen(function* () {
  if (!existsSync(program)) {
    return yield* Effect.die(
      new Error(
        `This test needs Chromium, which is missing at ${program}: run "apt-get install chromium", ` +
          "or set the environment variable CHROMIUM to its path"
      )
    )
  }
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "chromium-"))),
    (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
  )
  return yield* Effect.acquireRelease(
    Effect.promise(() =>
      chromium.launchPersistentContext(folder, { executablePath: program, args, timeout: testTimeout })
    ),
    (context) => Effect.promise(() => context.close())
  )
})

describe("documentation page", () => {
  it.live(
    "shows the operations in a browser, requests its own server only, and calls it",
    () =>
      Effect.gen(function* () {
        const { url } = yield* served({ key: Redacted.make("sesame") })
        const context = yield* browser
        const page = yield* Effect.promise(() => context.newPage())
        const errors: Array<string> = []
        const asked = new Set<string>()
        page.on("pageerror", ({ message }) => errors.push(message))
        page.on("console", (line) => {
          if (line.type() === "error") errors.push(line.text())
        })
        page.on("request", (request) => asked.add(new URL(request.url()).origin))
        yield* Effect.promise(() => page.goto(`${url}/docs`, { waitUntil: "load" }))
        const operation = page.locator(".opblock-post", { hasText: "/tools/echo" })
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
          [...asked].filter((origin) => origin.startsWith("http")),
          [url]
        )
      }).pipe(Effect.scoped),
    testTimeout
  )

  it.live("runs no script except its own", () =>
    Effect.gen(function* () {
      const { url } = yield* served()
      const { headers } = yield* ask(`${url}/docs`)
      const policy = headers.get("content-security-policy") ?? ""
      assert.match(policy, /default-src 'none'; script-src 'sha256-[A-Za-z0-9+/]{43}=';/)
      assert.strictEqual(headers.get("content-type"), "text/html; charset=utf-8")
      assert.strictEqual(headers.get("x-content-type-options"), "nosniff")
    }).pipe(Effect.scoped)
  )
})
