/**
 * Tests the packed package in other runtimes. Servers, Computers and Agents of three versions of Node, Deno and Bun work
 * with each other. Each of them runs devices, packs and the command. Chromium and workerd run Agents and Computers of
 * functions.
 * Compares the table in docs/runtimes.md with what ran; `--write` replaces it.
 */
import { strict as assert } from "node:assert"
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect } from "effect"
import { build } from "esbuild"
import type { BrowserContext } from "playwright-core"
import { makeFolder, makePackedProject, packArchives } from "./packedProject.ts"
import { findBinary, installNode, otherNodes } from "./runtimes/binaries.ts"
import { writeExtension } from "./runtimes/extension.ts"
import { programsIn, type Runtime } from "./runtimes/programs.ts"
import { Outcomes, type Part, publishTable } from "./runtimes/table.ts"
import { chromiumBrowser } from "../test/programs/chromiumBrowser.ts"
import { extensionBrowser } from "../test/programs/extensionBrowser.ts"
import { install, locate } from "../test/programs/Program.ts"

const transports = ["polling", "websocket", "polling,websocket"]

const makeNode = (version: string, path: string): Runtime => ({
  name: `Node ${version.split(".").slice(0, 2).join(".")}`,
  command: [path]
})
const node = makeNode(process.versions.node, process.execPath)
const [oldNode, newNode] = otherNodes.map((version) => makeNode(version, installNode(version)))
if (oldNode === undefined || newNode === undefined) throw new Error("a version of Node is missing")
const [bunPath, denoPath, workerd] = (["bun", "deno", "workerd"] as const).map((name) => {
  const path = findBinary(name)
  if (path === undefined) throw new Error(`npm has no ${name} for this platform: ${process.platform} ${process.arch}`)
  return path
})
const deno: Runtime = { name: "Deno", command: [denoPath ?? "", "run", "--quiet", "--allow-all"] }
const bun: Runtime = { name: "Bun", command: [bunPath ?? ""] }
const runtimes: ReadonlyArray<Runtime> = [oldNode, node, newNode, deno, bun]

using packed = makeFolder()
const archives = Object.values(packArchives(packed.folder))
using project = makePackedProject([...archives, "@modelcontextprotocol/server-everything", "@bpinternal/verel"])
const { folder } = project
cpSync("scripts/runtimes", folder, { recursive: true })
const { run, start } = programsIn(folder)
const a2c = "node_modules/a2c-cli/dist/main/cli/a2c.cjs"

const outcomes = new Outcomes()

/** Reports and records that parts work in a runtime, or that they end there with their reason. */
const report = ({ name }: Pick<Runtime, "name">, outcome: "yes" | "no", ...parts: ReadonlyArray<Part>) => {
  for (const part of parts) outcomes.set(part, name, outcome)
  process.stdout.write(`${parts.join(", ")} in ${name}: ${outcome === "yes" ? "works" : "ends with its reason"}\n`)
}

/** The message of a program that must fail. */
const failureOf = async (runtime: Runtime, ...args: ReadonlyArray<string>): Promise<string> => {
  const outcome = await run(runtime, ...args).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error
  )
  if (typeof outcome === "string") throw new Error(`${runtime.name} ${args.join(" ")} printed ${outcome}`)
  return outcome.stderr + outcome.stdout
}

/** Each Agent, over each transport, with a Computer of each runtime, at a Server of one. */
const checkOffice = async (serverRuntime: Runtime, members: ReadonlyArray<Runtime>): Promise<void> => {
  await using server = await start(serverRuntime, "server.ts")
  await using stack = new AsyncDisposableStack()
  const computers: Array<string> = []
  for (const runtime of members) {
    const name = `desk-${runtime.name.replaceAll(/\W/g, "-")}`
    const program = await start(runtime, "computer.ts", server.line, name, process.execPath)
    computers.push(...stack.use(program).line.split(" "))
  }
  for (const runtime of members) {
    for (const names of transports) {
      assert.equal(await run(runtime, "agent.ts", server.line, names, ...computers), "works")
    }
    const tools = await run(runtime, a2c, "agent", "--server", server.line, "--office", "team", "tools")
    for (const name of computers) assert.match(tools, new RegExp(`^${name} +get-sum `, "m"))
    report(runtime, "yes", "agent", "computer", "functions", "command")
  }
  report(serverRuntime, "yes", "server")
}

/** Serves HTTP on a free port; gives its origin. */
const serveHttp = async (listener: RequestListener) => {
  const http = createServer(listener)
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  const close = () => {
    http.close()
    http.closeAllConnections()
  }
  return { origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, [Symbol.dispose]: close }
}

const checkRedirects = async (runtime: Runtime): Promise<void> => {
  const followed: Array<string> = []
  using http = await serveHttp((request, response) => {
    if (request.url?.startsWith("/elsewhere") === true) followed.push(request.url)
    response.writeHead(302, { location: "/elsewhere" }).end()
  })
  assert.equal(await run(runtime, "redirects.ts", http.origin), "unreachable\nunreachable")
  assert.deepEqual(followed, [])
}

/** What the program with the domain returns. */
const domainResult = {
  path: ["src/main"],
  result: { content: [{ type: "text", text: "hi" }, { type: "hologram" }], isError: false }
}

/** What the Agent without Node gets from a Computer. */
const sum = [{ type: "text", text: "The sum of 2 and 3 is 5." }]

const checkParts = async (runtime: Runtime): Promise<void> => {
  const [imported, result = ""] = (await run(runtime, "imports.ts")).split("\n")
  assert.equal(imported, "8")
  assert.deepEqual(JSON.parse(result), domainResult)
  await checkRedirects(runtime)
  assert.equal(await run(runtime, "devices.ts"), '[{"type":"text","text":"21 °C"}]')
  report(runtime, "yes", "domain", "devices", "http")
  const call = [a2c, "tools", "call", "word_count", "--dir", "packs", "--args", '{"text": "hi there"}']
  if (runtime === bun) {
    assert.match(await failureOf(runtime, ...call), /this runtime has no module hooks/)
    report(runtime, "no", "packs")
  } else {
    for (const flags of [[], ["--isolate"]])
      assert.equal(await run(runtime, ...call, ...flags), "8 characters, 2 words")
    report(runtime, "yes", "packs")
  }
}

/** Bundles a program of the project for a browser. */
const bundle = async (program: string): Promise<string> => {
  const outfile = join(folder, program.replace(".ts", ".js"))
  const entryPoints = [join(folder, program)]
  await build({ entryPoints, outfile, bundle: true, format: "esm", platform: "browser", logLevel: "error" })
  return outfile
}

const workerdConfig = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker), (name = "internet", network = (allow = ["local"]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "main", esModule = embed "worker.js")], compatibilityDate = "2026-01-01"
);
`

/** Runs an Agent that calls the tools of these Computers, and cancels calls. */
const checkCalls = async (server: string, names: string, ...computers: ReadonlyArray<string>): Promise<void> =>
  assert.equal(await run(node, "agent.ts", server, names, ...computers), "works")

/** The domain, an Agent and a Computer of functions in workerd, with a Server and a Computer in Node. */
const checkWorkerd = async (): Promise<void> => {
  await bundle("worker.ts")
  writeFileSync(join(folder, "worker.capnp"), workerdConfig)
  const command = [workerd ?? "", "serve", "worker.capnp", "--control-fd=1"]
  await using server = await start(node, "server.ts")
  await using _computer = await start(node, "computer.ts", server.line, "desk", process.execPath)
  // It waits for the end of requests otherwise.
  await using service = await start({ name: "workerd", command, stopSignal: "SIGKILL" })
  const { port } = JSON.parse(service.line) as { readonly port: number }
  const ask = (path: string, computer = "") => {
    const query = new URLSearchParams({ server: server.line, computer }).toString()
    return fetch(`http://127.0.0.1:${port}${path}?${query}`)
  }
  assert.deepEqual(await (await ask("/domain")).json(), domainResult)
  assert.deepEqual(await (await ask("/agent", "desk")).json(), sum)
  const { body } = await ask("/functions", "worker")
  const reader = body?.getReader()
  assert.equal(new TextDecoder().decode((await reader?.read())?.value), "worker")
  for (const names of transports) await checkCalls(server.line, names, "desk", "desk-functions", "worker")
  report({ name: "workerd" }, "yes", "domain", "agent", "functions")
}

/** Loads a page, and a web worker with the same script; gives what evaluates expressions in them. */
const openPlaces = async (
  browser: BrowserContext,
  url: string
): Promise<ReadonlyArray<{ readonly evaluate: (expression: string) => Promise<unknown> }>> => {
  const page = await browser.newPage()
  await page.goto(url, { waitUntil: "load" })
  const starting = page.waitForEvent("worker")
  await page.evaluate(`new Promise((loaded) => {
    new BroadcastChannel("workers").onmessage = loaded
    new Worker("/page.js", { type: "module" })
  })`)
  return [page, await starting]
}

/**
 * The domain, an Agent and a Computer of functions in a page, in the page of an extension without a service worker, and in
 * a web worker of each. The Server and another Computer run in Node.
 */
const checkChromium = async (): Promise<void> => {
  for (const program of [chromiumBrowser, extensionBrowser]) if (locate(program) === undefined) await install(program)
  const { launchChromium, launchChromiumWith } = await import("../test/programs/launchChromium.ts")
  const script = readFileSync(await bundle("page.ts"))
  using http = await serveHttp(({ url }, response) => {
    if (url === "/page.js") response.writeHead(200, { "content-type": "text/javascript" }).end(script)
    else
      response
        .writeHead(200, { "content-type": "text/html" })
        .end('<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>')
  })
  const extension = writeExtension(join(folder, "extension"), script)
  await using server = await start(node, "server.ts", http.origin, extension.origin)
  await using _computer = await start(node, "computer.ts", server.line, "desk", process.execPath)
  const visit = Effect.gen(function* () {
    const browser = yield* launchChromium
    const browserOfExtension = yield* launchChromiumWith(extension.flags, extensionBrowser)
    yield* Effect.promise(async () => {
      const places = [
        ...(await openPlaces(browser, http.origin)),
        ...(await openPlaces(browserOfExtension, `${extension.origin}${extension.page}`))
      ]
      const names = places.map((_, index) => `place-${index}`)
      for (const [index, place] of places.entries()) {
        assert.deepEqual(await place.evaluate("useDomain()"), domainResult)
        for (const transport of transports) {
          const args = JSON.stringify([server.line, "desk", transport.split(",")])
          assert.deepEqual(await place.evaluate(`add(...${args})`), sum)
        }
        await place.evaluate(`offerFunctions(...${JSON.stringify([server.line, names[index]])})`)
      }
      for (const transport of transports) await checkCalls(server.line, transport, "desk", "desk-functions", ...names)
    })
  })
  await Effect.runPromise(Effect.scoped(visit))
  report({ name: "Chromium" }, "yes", "domain", "agent", "functions")
}

mkdirSync(join(folder, "packs"))
await run(node, a2c, "tools", "new", "word_count", "--dir", "packs")

const others = [oldNode, newNode]
const checks = [
  () => checkOffice(node, [node, deno, bun]),
  () => checkOffice(deno, [node, deno, bun]),
  () => checkOffice(bun, [node, deno, bun]),
  () => checkOffice(oldNode, others),
  () => checkOffice(newNode, others),
  checkChromium,
  checkWorkerd,
  ...runtimes.map((runtime) => () => checkParts(runtime))
]
/** Runs checks until the list is empty, or a check fails. */
const runChecks = async (): Promise<void> => {
  for (let check = checks.shift(); check !== undefined; check = checks.shift()) {
    await check().catch((error: unknown) => {
      checks.length = 0
      throw error
    })
  }
}
// Two at once: most of the time, a check waits.
for (const ended of await Promise.allSettled([runChecks(), runChecks()])) {
  if (ended.status === "rejected") throw ended.reason
}

/** A runtime with its version, as in `Deno 2.9`. */
const withVersion = ({ command: [path = ""], name }: Runtime): string => {
  const [version = ""] = /\d+\.\d+/.exec(execFileSync(path, ["--version"], { encoding: "utf8" })) ?? []
  return name.endsWith(version) ? name : `${name} ${version}`
}
const columns = [
  ...runtimes.map((runtime) => ({ name: runtime.name, heading: withVersion(runtime) })),
  { name: "Chromium", heading: "Chromium" },
  { name: "Firefox", heading: "Firefox" },
  { name: "workerd", heading: "workers (`workerd`)" }
]
publishTable(outcomes.format(columns), process.argv.includes("--write"))
