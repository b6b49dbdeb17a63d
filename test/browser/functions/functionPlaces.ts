import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { build } from "esbuild"
import type { BrowserContext, Page } from "playwright-core"
import { type FunctionScript, makeFunctionScript } from "../../fixtures/browser/functionScript.ts"
import { browserTimeout, chromiumPath, launchChromium } from "../../programs/launchChromium.ts"

/** The methods of a script as effects, wherever it runs. */
export type RemoteScript = {
  readonly [K in keyof FunctionScript]: (
    ...args: Parameters<FunctionScript[K]>
  ) => Effect.Effect<Awaited<ReturnType<FunctionScript[K]>>>
}

/** What a page of a strict host may do: no inline scripts and no `eval`. */
const contentSecurityPolicy =
  "default-src 'none'; img-src data:; script-src 'self'; connect-src http://127.0.0.1:* ws://127.0.0.1:*"

const bundle = async (entryPoint: string): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    platform: "browser",
    format: "esm",
    write: false
  })
  return outputFiles[0]?.text ?? ""
}

/** Texts by path, of which a page may be served before it is needed. */
export type ServedFiles = Record<string, string>

const serve = async (files: ServedFiles) => {
  const http = createServer(({ url = "" }, response) => {
    const path = new URL(url, "http://localhost").pathname
    const text = files[path]
    if (text === undefined) response.writeHead(404).end()
    else {
      const type = path.endsWith(".js") ? "text/javascript" : "text/html; charset=utf-8"
      response.writeHead(200, { "content-type": type, "content-security-policy": contentSecurityPolicy }).end(text)
    }
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  return http
}

/** A script in a page of Chromium. */
export const scriptInPage = (page: Page, id = "script"): RemoteScript =>
  new Proxy({} as RemoteScript, {
    get:
      (_, method) =>
      (...args: ReadonlyArray<unknown>) =>
        Effect.promise(() =>
          page.evaluate(
            ([scriptId, name, values]) =>
              (globalThis as unknown as { callScript: (...call: ReadonlyArray<unknown>) => unknown }).callScript(
                scriptId,
                name,
                values
              ),
            [id, String(method), args] as const
          )
        )
  })

/** A script in this process. */
export const scriptInNode = (): RemoteScript => {
  const script = makeFunctionScript()
  return new Proxy({} as RemoteScript, {
    get:
      (_, method) =>
      (...args: ReadonlyArray<never>) =>
        Effect.promise(async () =>
          (script[method as keyof FunctionScript] as (...args: ReadonlyArray<never>) => unknown)(...args)
        )
  })
}

export const hasChromium = chromiumPath !== undefined

interface Running {
  readonly browser: BrowserContext
  readonly origin: string
}

/** Pages with scripts, and with files of the test, under a strict content security policy. */
export const useFunctionPages = (files: () => Promise<ServedFiles> = async () => ({})) => {
  const closing = new AsyncDisposableStack()
  afterAll(() => closing.disposeAsync(), browserTimeout)
  let launched: Promise<Running> | undefined
  /** What pages did wrong, such as errors and violations of the policy. */
  const faults: Array<string> = []

  const launch = async (): Promise<Running> => {
    const scripts = {
      "/": '<!doctype html><link rel="icon" href="data:,"><title>page</title><script type="module" src="/scripts.js"></script>',
      "/scripts.js": await bundle("test/fixtures/browser/functionScripts.ts")
    }
    const http = closing.adopt(await serve({ ...scripts, ...(await files()) }), (server) => {
      server.closeAllConnections()
      server.close()
    })
    const scope = closing.adopt(Scope.makeUnsafe(), (one) => Effect.runPromise(Scope.close(one, Exit.void)))
    const browser = await Effect.runPromise(Scope.provide(launchChromium, scope))
    return { browser, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
  }
  const running = () => (launched ??= launch())

  const newPage = async (path = "/"): Promise<Page> => {
    const { browser, origin } = await running()
    const page = await browser.newPage()
    page.on("pageerror", ({ message }) => void faults.push(message))
    page.on("console", (message) => {
      if (/Content Security Policy/.test(message.text())) faults.push(message.text())
    })
    await page.goto(`${origin}${path}`, { waitUntil: "load" })
    return page
  }

  let shared: Promise<Page> | undefined
  let scripts = 0
  return {
    faults,
    origin: Effect.promise(async () => (await running()).origin),
    /** Opens a page until the scope closes. */
    page: (path?: string) =>
      Effect.acquireRelease(
        Effect.promise(() => newPage(path)),
        (page) => Effect.promise(() => page.close())
      ),
    /** A script in the one page that all tests of a file share. */
    script: Effect.map(
      Effect.promise(() => (shared ??= newPage())),
      (page) => scriptInPage(page, String(scripts++))
    )
  }
}

export const bundleComputer = () => bundle("src/main/entrypoints/computer.ts")
