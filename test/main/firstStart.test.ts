import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { join } from "node:path"
import { createServer as createTlsServer } from "node:https"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { cli, node, outcomeOf, startServer, temporaryFile } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))

/** An MCP server without dependencies, as a package. */
const serverSource = `#!/usr/bin/env node
const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n")
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === "initialize") {
    const serverInfo = { name: "tiny", version: "1.0.0" }
    reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo })
  } else if (method === "tools/list") reply(id, { tools: [{ name: "greet", inputSchema: { type: "object" } }] })
  else if (method === "tools/call") reply(id, { content: [{ type: "text", text: "hello" }] })
  else if (id !== undefined) reply(id, {})
})
`

const listening = (server: Server) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<number>((resolve) =>
          server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port))
        )
    ),
    () => Effect.sync(() => server.close())
  )

/** A registry of npm with the package, at `https://localhost` behind the proxies. */
const makeRegistry = Effect.gen(function* () {
  const folder = yield* temporaryFolder
  const manifest = { name: "tiny-mcp-server", version: "1.0.0", bin: { "tiny-mcp-server": "server.cjs" } }
  mkdirSync(join(folder, "package"))
  writeFileSync(join(folder, "package", "package.json"), JSON.stringify(manifest))
  writeFileSync(join(folder, "package", "server.cjs"), serverSource)
  execFileSync("tar", ["czf", "package.tgz", "package"], { cwd: folder })
  const archive = readFileSync(join(folder, "package.tgz"))
  const integrity = `sha512-${createHash("sha512").update(archive).digest("base64")}`
  const dist = { tarball: "https://localhost/tiny-mcp-server.tgz", integrity }
  const packument = {
    name: manifest.name,
    "dist-tags": { latest: "1.0.0" },
    versions: { "1.0.0": { ...manifest, dist } }
  }
  const tls = { cert: readFileSync(fixture("first.cert.pem")), key: readFileSync(fixture("first.key.pem")) }
  return yield* listening(
    createTlsServer(tls, ({ url }, response) => {
      if (url === "/tiny-mcp-server.tgz") response.end(archive)
      else if (url === "/tiny-mcp-server") response.end(JSON.stringify(packument))
      else response.writeHead(404).end("{}")
    })
  )
})

/** A proxy that hands each tunnel on. */
const makeProxy = (open: (client: Socket) => void) => {
  const server = createServer()
  server.on("connect", (_request, client: Socket, head: Buffer) => {
    client.on("error", () => undefined)
    client.write("HTTP/1.1 200 Connection established\r\n\r\n")
    if (head.length > 0) client.unshift(head)
    open(client)
  })
  return listening(server)
}

const resettingProxy = makeProxy((client) => client.once("data", () => client.resetAndDestroy()))

/** Like the proxies of companies, it has a certificate for each host from an authority of the company. */
const inspectingProxy = Effect.flatMap(makeRegistry, (registry) =>
  makeProxy((client) => {
    const upstream = connect(registry, "127.0.0.1")
    upstream.on("error", () => client.destroy())
    client.on("close", () => upstream.destroy())
    client.pipe(upstream).pipe(client)
  })
)

/** Calls a tool of a package that `npx` loads through a proxy, as the tutorial does. */
const callThrough = Effect.fnUntraced(function* (proxy: number, variables: { readonly [name: string]: string } = {}) {
  const { url } = yield* startServer()
  const server = { type: "stdio", server_parameters: { command: "npx", args: ["-y", "tiny-mcp-server"] } }
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: { files: server } }))
  const environment = {
    HTTPS_PROXY: `http://127.0.0.1:${proxy}`,
    npm_config_registry: "https://localhost/",
    npm_config_cache: yield* temporaryFolder,
    // The settings of this machine, which npm hands on to the tests, may name certificates instead of the variable.
    npm_config_cafile: "",
    npm_config_globalconfig: yield* temporaryFile("npmrc", ""),
    npm_config_userconfig: yield* temporaryFile("npmrc", ""),
    ...variables
  }
  const place = ["--server", url, "--office", "o"]
  const computer = yield* node([cli, "computer", ...place, "--config", config, "--approve", "*"], environment)
  yield* computer.prints("joined office")
  return yield* Effect.flatMap(node([cli, "agent", ...place, "call", "greet"]), outcomeOf)
})

describe("the first start behind a proxy", () => {
  it.live("names the reset connections", () =>
    Effect.gen(function* () {
      const { stderr } = yield* callThrough(yield* resettingProxy)
      assert.match(
        stderr,
        /The MCP server files, which may have it, is failing: npx cannot load the package \(ECONNRESET\)/
      )
    })
  )

  it.live("names the certificate of the proxy, and works with it", () =>
    Effect.gen(function* () {
      const proxy = yield* inspectingProxy
      const { stderr } = yield* callThrough(proxy)
      assert.match(
        stderr,
        /files, which may have it, is failing: npx cannot load the package \(\w*CERT\w*\): .* Set NODE_EXTRA_CA_CERTS/
      )
      const { code, stdout } = yield* callThrough(proxy, { NODE_EXTRA_CA_CERTS: fixture("first.cert.pem") })
      assert.deepStrictEqual([code, stdout], [0, "hello\n"])
    })
  )
})
