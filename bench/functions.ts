/**
 * Measures what a Computer of functions costs a page in Chromium: the time until it has joined, and memory while it is idle.
 * Needs `npm run build`. Usage: node bench/functions.ts [--pages N]
 */
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import { gzipSync } from "node:zlib"
import { Effect } from "effect"
import { build } from "esbuild"
import type { BrowserContext } from "playwright-core"
import { runServer } from "../src/main/entrypoints/promise.ts"
import { launchChromium } from "../test/programs/launchChromium.ts"
import { serveTexts } from "../test/programs/serveTexts.ts"
import { median } from "./relay/statistics.ts"

const { values } = parseArgs({ options: { pages: { type: "string", default: "20" } } })
const pages = Number(values.pages)
if (!(pages >= 1)) throw new Error("usage: node bench/functions.ts [--pages N]")

/** Milliseconds after which a page is idle. */
const idleAfter = 3000

const script = `
import { joinAsComputer } from "./dist/main/entrypoints/computer.js"

globalThis.join = (url, name) =>
  joinAsComputer({
    url,
    office: "bench",
    name,
    approve: ["*"],
    tools: [
      {
        name: "add",
        description: "Adds numbers",
        params: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
        run: ({ a, b }) => ({ sum: a + b })
      }
    ]
  })
const [url, name] = new URLSearchParams(location.search).values()
if (url) join(url, name).then(() => (globalThis.joinedAfter = performance.now() - started))
`

const bundle = async (): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: process.cwd() },
    // Before the modules of the bundle run.
    banner: { js: "globalThis.started = performance.now();" },
    bundle: true,
    minify: true,
    format: "esm",
    write: false
  })
  return outputFiles[0]?.text ?? ""
}

/** A page of the browser and what it measures; closing the page ends its Computer. */
const openPage = async (browser: BrowserContext, address: string, isReady = "true") => {
  const page = await browser.newPage()
  await page.goto(address, { waitUntil: "load" })
  await page.waitForFunction(isReady)
  const devtools = await browser.newCDPSession(page)
  return {
    evaluate: async (expression: string): Promise<number> => Number(await page.evaluate(expression)),
    /** Bytes of the heap of JavaScript after a collection of garbage. */
    heapSize: async (): Promise<number> => {
      await sleep(idleAfter)
      await devtools.send("HeapProfiler.collectGarbage")
      await devtools.send("Performance.enable")
      const { metrics } = await devtools.send("Performance.getMetrics")
      return metrics.find(({ name }) => name === "JSHeapUsedSize")?.value ?? Number.NaN
    },
    [Symbol.asyncDispose]: () => page.close()
  }
}

const kilobytes = (bytes: number): string => `${Math.round(bytes / 1000)} KB`
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
const range = (times: ReadonlyArray<number>): string => {
  const [low, middle, high] = [Math.min(...times), median(times), Math.max(...times)].map((time) => Math.round(time))
  return `${middle} ms (${low} to ${high})`
}

const measure = Effect.gen(function* () {
  const text = yield* Effect.promise(bundle)
  const head = '<!doctype html><link rel="icon" href="data:,">'
  const withScript = `${head}<script type="module" src="/page.js"></script>`
  const origin = yield* serveTexts({ "/empty": head, "/page": withScript, "/page.js": text })
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => runServer({ authenticate: "allowAll", allowedOrigins: [origin], log: () => undefined })),
    (one) => Effect.promise(() => one.close())
  )
  const browser = yield* launchChromium
  const joined = (name: string) =>
    openPage(browser, `${origin}/page?url=${server.url}&name=${name}`, "'joinedAfter' in globalThis")

  return yield* Effect.promise(async () => {
    const afterScript: Array<number> = []
    const afterNavigation: Array<number> = []
    for (let index = 0; index < pages; index += 1) {
      await using page = await joined(`page-${index}`)
      afterScript.push(await page.evaluate("joinedAfter"))
      afterNavigation.push(await page.evaluate("joinedAfter + started"))
    }
    const heaps = { empty: [], script: [], joined: [] } as { readonly [kind: string]: Array<number> }
    for (let index = 0; index < Math.ceil(pages / 4); index += 1) {
      const open = {
        empty: () => openPage(browser, `${origin}/empty`),
        script: () => openPage(browser, `${origin}/page`)
      }
      for (const [kind, opened] of Object.entries({ ...open, joined: () => joined(`idle-${index}`) })) {
        await using page = await opened()
        heaps[kind]?.push(await page.heapSize())
      }
    }
    return [
      ["script, minified", kilobytes(text.length)],
      ["script, gzipped", kilobytes(gzipSync(text, { level: 9 }).length)],
      ["start of the script to joined", range(afterScript)],
      ["start of the navigation to joined", range(afterNavigation)],
      ["heap of a page without the script", megabytes(median(heaps["empty"] ?? []))],
      ["heap of a page with the script, not joined", megabytes(median(heaps["script"] ?? []))],
      ["heap of a page with a joined Computer", megabytes(median(heaps["joined"] ?? []))]
    ]
  })
})

const rows = await Effect.runPromise(Effect.scoped(measure))
process.stdout.write(`${rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`)
