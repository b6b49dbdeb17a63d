/**
 * Tests the packed package in other runtimes: Server, Computer and Agent of Node, Deno and Bun with each other, devices,
 * packs and the command in each, and the domain in workerd. docs/runtimes.md has the table.
 */
import { strict as assert } from "node:assert"
import { cpSync, mkdirSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { build } from "esbuild"
import { makePackedProject } from "./packedProject.ts"
import { findBinary } from "./runtimes/binaries.ts"
import { programsIn, type Runtime } from "./runtimes/programs.ts"

const transports = ["polling", "websocket", "polling,websocket"]

const node: Runtime = { name: "node", command: [process.execPath] }
const [bun, deno, workerd] = (["bun", "deno", "workerd"] as const).map((name) => {
  const path = findBinary(name)
  if (path === undefined) throw new Error(`npm has no ${name} for this platform: ${process.platform} ${process.arch}`)
  return path
})
const runtimes: ReadonlyArray<Runtime> = [
  node,
  { name: "deno", command: [deno ?? "", "run", "--quiet", "--allow-all"] },
  { name: "bun", command: [bun ?? ""] }
]

using project = makePackedProject()
const { folder } = project
cpSync("scripts/runtimes", folder, { recursive: true })
const { run, start } = programsIn(folder)
const a2c = "node_modules/a2c-smcp/dist/main/cli/a2c.js"

const report = (line: string) => process.stdout.write(`${line}\n`)

/** The message of a program that must fail. */
const failureOf = async (runtime: Runtime, ...args: ReadonlyArray<string>): Promise<string> => {
  const outcome = await run(runtime, ...args).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => error
  )
  if (typeof outcome === "string") throw new Error(`${runtime.name} ${args.join(" ")} printed ${outcome}`)
  return outcome.stderr + outcome.stdout
}

/** Each Agent, over each transport, with a Computer of each runtime, at a Server of one. */
const checkOffice = async (serverRuntime: Runtime): Promise<void> => {
  await using server = await start(serverRuntime, "server.ts")
  await using stack = new AsyncDisposableStack()
  const computers: Array<string> = []
  for (const runtime of runtimes) {
    const program = await start(runtime, "computer.ts", server.line, `desk-${runtime.name}`, process.execPath)
    computers.push(stack.use(program).line)
  }
  for (const runtime of runtimes) {
    for (const names of transports) {
      assert.equal(await run(runtime, "agent.ts", server.line, names, ...computers), "works")
    }
    const tools = await run(runtime, a2c, "agent", "--server", server.line, "--office", "team", "tools")
    for (const name of computers) assert.match(tools, new RegExp(`^${name} +get-sum `, "m"))
  }
  report(`Server in ${serverRuntime.name}, with Computers and Agents in node, deno and bun: works`)
}

const checkRedirects = async (runtime: Runtime): Promise<void> => {
  const followed: Array<string> = []
  const http = createServer((request, response) => {
    if (request.url?.startsWith("/elsewhere") === true) followed.push(request.url)
    response.writeHead(302, { location: "/elsewhere" }).end()
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  try {
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    assert.equal(await run(runtime, "redirects.ts", url), "unreachable\nunreachable")
    assert.deepEqual(followed, [])
  } finally {
    http.close()
    http.closeAllConnections()
  }
}

const checkParts = async (runtime: Runtime): Promise<void> => {
  assert.equal(await run(runtime, "imports.ts"), "7")
  await checkRedirects(runtime)
  assert.equal(await run(runtime, "devices.ts"), '[{"type":"text","text":"21 °C"}]')
  report(`entry points, rejected redirects, devices and an MCP server over HTTP in ${runtime.name}: work`)
  const call = [a2c, "tools", "call", "word_count", "--dir", "packs", "--args", '{"text": "hi there"}']
  if (runtime.name === "bun") {
    assert.match(await failureOf(runtime, ...call), /this runtime has no module hooks/)
    assert.match(await failureOf(runtime, "server.ts"), /This runtime replaces the package ws/)
    assert.match(await failureOf(runtime, a2c, "server", "--port", "0"), /This runtime replaces the package ws/)
    report("packs and a Server in bun: fail with a reason")
  } else {
    for (const flags of [[], ["--isolate"]])
      assert.equal(await run(runtime, ...call, ...flags), "8 characters, 2 words")
    report(`packs in ${runtime.name}: work`)
  }
}

const workerdConfig = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
const worker :Workerd.Worker = (
  modules = [(name = "main", esModule = embed "worker.js")], compatibilityDate = "2026-01-01"
);
`

/** Bundles the domain for a browser, and serves it with workerd. */
const checkWorkerd = async (): Promise<void> => {
  await build({
    entryPoints: [join(folder, "worker.ts")],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    platform: "browser",
    logLevel: "error"
  })
  writeFileSync(join(folder, "worker.capnp"), workerdConfig)
  const command = [workerd ?? "", "serve", "worker.capnp", "--control-fd=1"]
  await using service = await start({ name: "workerd", command, stopSignal: "SIGTERM" })
  const { port } = JSON.parse(service.line) as { readonly port: number }
  const response = await fetch(`http://127.0.0.1:${port}/`)
  assert.deepEqual(await response.json(), {
    path: ["src/main"],
    result: { content: [{ type: "text", text: "hi" }, { type: "hologram" }], isError: false }
  })
  report("the domain in workerd: works")
}

mkdirSync(join(folder, "packs"))
await run(node, a2c, "tools", "new", "word_count", "--dir", "packs")
for (const runtime of runtimes) await checkParts(runtime)
for (const runtime of runtimes) if (runtime.name !== "bun") await checkOffice(runtime)
await checkWorkerd()
