import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { chromium } from "playwright-core"
import { runComputer, runServer } from "../../src/main/entrypoints/promise.ts"

const program = process.env["CHROMIUM"] ?? "/usr/bin/chromium"

/** How long Chromium may take to start on a machine that is busy, in milliseconds. */
const patience = 60_000

/** Everything that a browser does by itself, beside showing pages, is switched off. */
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

const quiet = () => undefined
const board = {
  type: "stdio",
  server_parameters: { command: process.execPath, args: ["src/main/demo/notesServer.ts"] },
  default_tool_meta: { auto_apply: true }
}

/** Serves a page with a bundle of our Agent. */
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
      const page =
        '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>'
      response.writeHead(200, { "content-type": "text/html" }).end(page)
    }
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  return http
}

describe("an Agent in a browser", () => {
  const closing = new AsyncDisposableStack()
  afterAll(() => closing.disposeAsync(), patience)

  const launch = async () => {
    if (!existsSync(program)) {
      throw new Error(
        `This test needs Chromium, and there is none at ${program}: run "apt-get install chromium", ` +
          "or say in the environment variable CHROMIUM where it is"
      )
    }
    const http = closing.adopt(await servePage(), (server) => {
      server.closeAllConnections()
      server.close()
    })
    const folder = closing.adopt(await mkdtemp(join(tmpdir(), "chromium-")), (path) =>
      rm(path, { recursive: true, force: true })
    )
    const options = { executablePath: program, args, timeout: patience }
    const browser = closing.adopt(await chromium.launchPersistentContext(folder, options), (context) =>
      context.close()
    )
    return { browser, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
  }
  let launched: ReturnType<typeof launch> | undefined
  /** The one browser of these tests, and the origin of its pages. */
  const running = () => (launched ??= launch())

  /** Runs one of the page's functions in a new page, with what went wrong there. */
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

    it(`calls tools and sees desktops change over ${how}`, { timeout: patience }, async () => {
      const { origin } = await running()
      await using server = await runServer({ allowedOrigins: [origin], log: quiet })
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
        said: "Note 1 is on the board.",
        window: "window://a2c.demo.notes/board?priority=80\n\n- milk"
      })
    })

    it(`is not let in over ${how} when its page is not listed`, { timeout: patience }, async () => {
      await using server = await runServer({ allowedOrigins: ["http://127.0.0.1:1"], log: quiet })
      const { result } = await inPage(`refusal("${server.url}", ${how})`)
      assert.strictEqual(result, "unreachable")
      assert.strictEqual((await server.load()).connections, 0)
    })
  }
})
