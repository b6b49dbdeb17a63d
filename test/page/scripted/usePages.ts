import axe from "axe-core"
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { afterAll, assert, describe, onTestFinished } from "vitest"
import { chromiumPath, launchChromium } from "../../programs/launchChromium.ts"
import type { Preparation } from "./preparations.ts"
import { ScriptedServer } from "./ScriptedServer.ts"

/** Collects violations of the policy, which the browser reports to the page. */
const recordViolations = `
  globalThis.violations = []
  addEventListener("securitypolicyviolation", ({ blockedURI, sample, violatedDirective }) =>
    violations.push([violatedDirective, blockedURI, sample].join(" ")))
`

/** Runs axe on the whole page and gives each violation with its elements. */
const runAxe = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 200)).join(" | ")))`

/** The time that a wait may take on a busy machine, in milliseconds. */
const waitTimeout = 60_000

/** A page in the browser. */
export interface OpenUrl {
  readonly page: Page
  /** Uncaught errors of the page, and violations of the policy. */
  readonly faults: () => Promise<ReadonlyArray<string>>
  /** Findings of axe. */
  readonly accessibilityFindings: () => Promise<ReadonlyArray<string>>
}

/** A page of a scripted Server. */
export interface OpenPage extends OpenUrl {
  readonly server: ScriptedServer
}

/** Groups tests that need Chromium; they are skipped without it. */
export const describePages = describe.skipIf(chromiumPath === undefined)

/**
 * Opens pages in one browser for the tests of a `describe`. A page closes with its test, which fails for errors of the page
 * and for violations of the policy.
 */
export const usePages = () => {
  const scope = Scope.makeUnsafe()
  let context: Promise<BrowserContext> | undefined
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  /** Opens a URL in a page that stays open for all tests, prepared before it loads, and waits for an element. */
  const openShared = async (
    url: string,
    selector = "main h1",
    prepare: (page: Page) => Promise<void> = () => Promise.resolve()
  ): Promise<OpenUrl> => {
    const page = await (await (context ??= Effect.runPromise(Scope.provide(launchChromium, scope)))).newPage()
    page.setDefaultTimeout(waitTimeout)
    const errors: Array<string> = []
    page.on("pageerror", ({ message }) => errors.push(message))
    await page.addInitScript(recordViolations)
    await prepare(page)
    await page.goto(url, { waitUntil: "load" })
    await page.locator(selector).first().waitFor()
    return {
      page,
      faults: async () => [...errors, ...((await page.evaluate("violations")) as ReadonlyArray<string>)],
      accessibilityFindings: async () => {
        await page.evaluate(axe.source)
        return (await page.evaluate(runAxe)) as ReadonlyArray<string>
      }
    }
  }

  /** Opens a URL for the current test. */
  const openUrl: typeof openShared = async (...options) => {
    const opened = await openShared(...options)
    onTestFinished(async () => {
      if (opened.page.isClosed()) return
      assert.deepStrictEqual(await opened.faults(), [])
      await opened.page.close()
    })
    return opened
  }

  /** Opens the page of a scripted Server at a hash such as `#/offices`, and waits for its first snapshot or its form for sign-in. */
  const open = async (hash = "", ...preparations: ReadonlyArray<Preparation>): Promise<OpenPage> => {
    const server = await new ScriptedServer().start()
    onTestFinished(() => server[Symbol.asyncDispose]())
    for (const prepare of preparations) prepare(server)
    return { ...(await openUrl(`${server.url}${hash}`, server.session === undefined ? "form" : undefined)), server }
  }

  return { open, openShared, openUrl }
}
