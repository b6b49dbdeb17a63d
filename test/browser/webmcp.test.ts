import { readFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { build } from "esbuild"
import { connectAgent, runServer } from "../../src/main/entrypoints/promise.ts"
import { browserTimeout, chromiumPath, launchChromiumWith } from "../programs/launchChromium.ts"

const require = createRequire(import.meta.url)
const scripts = {
  "/polyfill.js": require.resolve("@mcp-b/webmcp-polyfill/iife"),
  "/global.js": require.resolve("@mcp-b/global/iife")
}
const polyfill = '<script src="/polyfill.js"></script>'

/** Every way in which a page has WebMCP. */
const versions = {
  "WebMCP of Chromium": { head: "<iframe></iframe>", flags: ["--enable-features=WebMCP"] },
  "@mcp-b/webmcp-polyfill": { head: polyfill, flags: [] },
  "@mcp-b/global": { head: '<script src="/global.js"></script>', flags: [] },
  "navigator.modelContext": {
    head: `${polyfill}<script>delete Document.prototype.modelContext; registry = navigator.modelContext</script>`,
    flags: []
  },
  "WebMCP of the draft": { head: '<script type="module">installDraft()</script>', flags: [] },
  "no WebMCP": { head: "", flags: [] }
}
type Version = keyof typeof versions

/** Serves a page of each version, with a bundle of the functions that it calls. */
const servePages = async (): Promise<Server> => {
  const { outputFiles } = await build({
    entryPoints: ["test/fixtures/browser/webmcp.ts"],
    bundle: true,
    platform: "browser",
    format: "esm",
    write: false
  })
  const script = outputFiles[0]?.text ?? ""
  const texts = Object.entries(scripts).map(([path, file]) => [path, readFileSync(file, "utf8")] as const)
  const served = new Map([["/page.js", script], ...texts])
  const http = createServer(({ url = "" }, response) => {
    const text = served.get(url)
    if (text !== undefined) {
      response.writeHead(200, { "content-type": "text/javascript" }).end(text)
    } else {
      const { head } = versions[decodeURIComponent(url.slice(1)) as Version]
      const page = `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>${head}`
      response.writeHead(200, { "content-type": "text/html" }).end(page)
    }
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  return http
}

describe.skipIf(chromiumPath === undefined)("offerPageTools", () => {
  const closing = new AsyncDisposableStack()
  afterAll(() => closing.disposeAsync(), browserTimeout)

  const launch = (flags: ReadonlyArray<string>) => {
    const scope = closing.adopt(Scope.makeUnsafe(), (one) => Effect.runPromise(Scope.close(one, Exit.void)))
    return Effect.runPromise(Scope.provide(launchChromiumWith(flags), scope))
  }
  const browsers = new Map<string, ReturnType<typeof launch>>()
  let serving: Promise<string> | undefined
  const serve = async () => {
    const http = closing.adopt(await servePages(), (server) => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  }

  /** Calls a function of a new page, and fails for errors of the page. */
  const inPage = async (version: Version, call: string, then = () => Promise.resolve()): Promise<unknown> => {
    const { flags } = versions[version]
    const browser = browsers.get(flags.join()) ?? launch(flags)
    browsers.set(flags.join(), browser)
    const page = await (await browser).newPage()
    const errors: Array<string> = []
    page.on("pageerror", ({ message }) => errors.push(message))
    await page.goto(`${await (serving ??= serve())}/${encodeURIComponent(version)}`, { waitUntil: "load" })
    const result: unknown = await page.evaluate(call)
    await then()
    await page.close()
    assert.deepStrictEqual(errors, [])
    return result
  }

  const full = { name: "full", description: "does full" }
  const small = { name: "small", description: "does small", params: {} }
  const params = { properties: { x: { type: "number" } }, required: ["x"] }
  const definitions = {
    full: { ...full, params, title: "Full", annotations: { readOnlyHint: true, untrustedContentHint: true } },
    small: { ...small, annotations: { readOnlyHint: false } }
  }

  for (const version of Object.keys(versions) as ReadonlyArray<Version>) {
    if (version === "no WebMCP") continue
    const hasSignal = version === "WebMCP of Chromium" || version === "WebMCP of the draft"

    describe(version, { timeout: browserTimeout }, () => {
      it("gives the definitions of tools to the office", async () => {
        assert.deepStrictEqual(await inPage(version, "definitions()"), definitions)
      })

      it("makes one change of the office of each change of the page", async () => {
        assert.deepStrictEqual(await inPage(version, "changes()"), [
          ["first"],
          ["first", "second", "third"],
          ["first", "fourth"],
          []
        ])
      })

      it("passes arguments to tools, and gives their results as text, JSON and MCP content", async () => {
        assert.deepStrictEqual(await inPage(version, "results()"), {
          echo: { n: 1, text: "ä", list: [{ toString: "own" }] },
          text: "3 items",
          mcp: { content: [{ type: "text", text: "block" }], isError: true },
          fails: "rejected"
        })
      })

      it("cancels a call without an answer, while another one is answered", async () => {
        assert.deepStrictEqual(await inPage(version, "cancelled()"), {
          never: "cancelled by the office",
          prompt: "prompt",
          hasSignal
        })
      })

      it("runs a tool that is registered again, without a change of the office", async () => {
        assert.deepStrictEqual(await inPage(version, "registeredAgain()"), {
          result: "second",
          offers: 2
        })
      })
    })
  }

  describe("a page", { timeout: browserTimeout }, () => {
    it("fails without WebMCP and says what to do", async () => {
      const error = String(await inPage("no WebMCP", "missing()"))
      assert.match(error, /^This page has no WebMCP .*HTTPS.*@mcp-b\/webmcp-polyfill.*Chrome 150/)
    })

    const problems = {
      thrower: "URI malformed",
      "": "URI malformed",
      "no name for MCP": "rejected",
      ["x".repeat(129)]: "rejected",
      array: "rejected",
      cyclic: "Converting circular structure to JSON",
      broken: "Expected property name",
      long: "its definition is too long"
    }
    it("keeps the good tools when others cannot be offered, and reports each of those once", async () => {
      const seen = (await inPage("no WebMCP", "odd()")) as { readonly problems: ReadonlyArray<string> }
      const { problems: reported, ...others } = seen
      assert.deepStrictEqual(others, { offered: ["good", "good.too", "last"], result: "good.too" })
      assert.strictEqual(reported.length, Object.keys(problems).length)
      for (const [name, reason] of Object.entries(problems)) {
        const start = `WebMCP tool ${JSON.stringify(name)}: ${reason}`
        assert.isTrue(
          reported.some((problem) => problem.startsWith(start)),
          start
        )
      }
    })

    it("reports that the tools cannot be read, reads them after the next change, and no longer after its end", async () => {
      assert.deepStrictEqual(await inPage("no WebMCP", "unreadable()"), {
        problems: ["WebMCP tools cannot be read: denied"],
        reads: 2
      })
    })

    it("offers its own tools, and none of its frames", async () => {
      assert.deepStrictEqual(await inPage("WebMCP of Chromium", "framed()"), {
        changes: [["both"]],
        result: "the page"
      })
    })

    for (const version of ["WebMCP of Chromium", "@mcp-b/webmcp-polyfill"] as const) {
      it(`gives its tools to an Agent with ${version}`, async () => {
        const allowedOrigins = [await (serving ??= serve())]
        await using server = await runServer({ authenticate: "allowAll", allowedOrigins, log: () => undefined })
        await using agent = await connectAgent({ url: server.url, office: "team", name: "bot" })
        const call = async () => {
          for await (const view of agent.changesOf("page")) {
            if (view?.tools?.some(({ name }) => name === "add") === true) break
          }
          const results = [
            { a: 1, b: 2 },
            { a: "x", b: 2 }
          ].map((params) => agent.callTool({ tool: "add", params }))
          const [sum, invalid] = await Promise.all(results)
          assert.deepStrictEqual(sum?.structuredContent, { sum: 3 })
          assert.propertyVal(invalid, "isError", true)
        }
        const rejected = await inPage(version, `join("${server.url}")`, call)
        assert.deepStrictEqual(rejected, ["absurd", "array", "reference"])
      })
    }
  })
})
