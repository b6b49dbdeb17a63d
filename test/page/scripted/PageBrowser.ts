import axe from "axe-core"
import { Effect, Exit, Scope } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { launchChromium } from "../../programs/launchChromium.ts"
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
export interface OpenUrl extends AsyncDisposable {
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

/** One browser for the tests of a file. */
export class PageBrowser {
  readonly #scope = Scope.makeUnsafe()
  #context: Promise<BrowserContext> | undefined

  /** Opens a URL in a new page, prepared before it loads, and waits for an element. */
  async openUrl(
    url: string,
    selector = "main h1",
    prepare: (page: Page) => Promise<void> = () => Promise.resolve()
  ): Promise<OpenUrl> {
    const context = await (this.#context ??= Effect.runPromise(Scope.provide(launchChromium, this.#scope)))
    const page = await context.newPage()
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
      },
      [Symbol.asyncDispose]: () => page.close()
    }
  }

  /** Opens the page at a hash such as `#/offices`, and waits for the first snapshot unless it must sign in. */
  async open(hash = "", prepare: (server: ScriptedServer) => void = () => undefined): Promise<OpenPage> {
    const server = await new ScriptedServer().start()
    prepare(server)
    const opened = await this.openUrl(`${server.url}${hash}`, server.session === undefined ? "form" : undefined)
    return {
      ...opened,
      server,
      [Symbol.asyncDispose]: async () => {
        await opened[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      }
    }
  }

  close(): Promise<void> {
    return Effect.runPromise(Scope.close(this.#scope, Exit.void))
  }
}
