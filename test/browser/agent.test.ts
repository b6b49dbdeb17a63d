import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { build } from "esbuild"
import { runComputer, runServer } from "../../src/main/entrypoints/promise.ts"
import { browserTimeout, chromiumPath, launchChromium } from "../programs/launchChromium.ts"

const quiet = () => undefined
const board = {
  type: "stdio",
  server_parameters: { command: process.execPath, args: ["src/main/demo/notesServer.ts"] },
  default_tool_meta: { auto_apply: true }
}

/** Serves a page with a bundle of the Agent. */
const servePage = async (): Promise<Server> => {
  const { outputFiles } = await build({
    entryPoints: ["test/fixtures/browser/page.ts"],
    bundle: true,
    minify: true,
    platform: "browser",
    format: "esm",
    write: false
  })
  const script = outputFiles[0]?.text ?? ""
  const http = createServer(({ url }, response) => {
    if (url === "/page.js") response.writeHead(200, { "content-type": "text/javascript" }).end(script)
    else {
      const page = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>'
      response.writeHead(200, { "content-type": "text/html" }).end(page)
    }
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  return http
}

describe.skipIf(chromiumPath === undefined)("browser Agent", () => {
  const closing = new AsyncDisposableStack()
  afterAll(() => closing.disposeAsync(), browserTimeout)

  const launch = async () => {
    const http = closing.adopt(await servePage(), (server) => {
      server.closeAllConnections()
      server.close()
    })
    const scope = closing.adopt(Scope.makeUnsafe(), (one) => Effect.runPromise(Scope.close(one, Exit.void)))
    const browser = await Effect.runPromise(Scope.provide(launchChromium, scope))
    return { browser, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
  }
  let launched: ReturnType<typeof launch> | undefined
  /** The shared browser and the origin of its pages. */
  const running = () => (launched ??= launch())

  /** Runs a function of the page in a new page and returns the result and the page errors. */
  const inPage = async (call: string): Promise<{ readonly result: unknown; readonly faults: unknown }> => {
    const { browser, origin } = await running()
    const page = await browser.newPage()
    const faults: Array<string> = []
    page.on("pageerror", ({ message }) => faults.push(message))
    await page.goto(origin, { waitUntil: "load" })
    const result: unknown = await page.evaluate(call)
    await page.close()
    return { result, faults }
  }

  for (const transports of [["polling", "websocket"], ["polling"], ["websocket"]]) {
    const how = JSON.stringify(transports)

    it(`calls tools and sees desktops change over ${how}`, { timeout: browserTimeout }, async () => {
      const { origin } = await running()
      await using server = await runServer({ authenticate: "allowAll", allowedOrigins: [origin], log: quiet })
      await using _desk = await runComputer({
        url: server.url,
        office: "team",
        name: "desk",
        config: { servers: { board } },
        log: quiet
      })
      const { faults, result } = await inPage(`visit("${server.url}", ${how}, "milk")`)
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(result, {
        printed: "Note 1 is on the board.",
        window: "window://a2c.demo.notes/board?priority=80\n\n- milk"
      })
    })

    it(`is rejected over ${how} when its origin is not allowed`, { timeout: browserTimeout }, async () => {
      await using server = await runServer({
        authenticate: "allowAll",
        allowedOrigins: ["http://127.0.0.1:1"],
        log: quiet
      })
      const { result } = await inPage(`refusal("${server.url}", ${how})`)
      assert.match(String(result), /^unreachable: .* the Server does not allow the origin of this page/)
      assert.strictEqual((await server.load()).connections, 0)
    })
  }
})
