import { createHash } from "node:crypto"
import * as library from "@cfworker/json-schema"
import { Context, Effect, Layer, Result } from "effect"
import { makeInterpreter } from "../../../src/adapters/jsonSchema/interpretSchema.ts"
import { serveTools } from "../../../src/adapters/packs/http/ToolServer.ts"
import { startPack } from "../../../src/adapters/packs/PackRuntime.ts"
import { PackHost } from "../../../src/application/packs/PackHost.ts"
import { PackFolders } from "../../../src/application/ports/packs/PackFolders.ts"
import { PackInstaller } from "../../../src/application/ports/packs/PackInstaller.ts"
import { PackLoader } from "../../../src/application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { makeWitness } from "../live/calls.ts"
import { errorsTo } from "../live/errors.ts"
import { requestOf, sendRequest } from "../live/rawHttp.ts"
import type { Surface } from "../Surface.ts"

const params: JsonObject = {
  type: "object",
  properties: {
    text: { type: "string" },
    count: { type: "integer", default: 1 },
    file: { type: "string", format: "binary" },
    list: { type: "array", items: { type: "string" } }
  }
}

/** A pack that echoes JSON and form arguments. */
class EchoTool {
  getRouteConfig() {
    const { file: _none, ...properties } = params["properties"] as JsonObject
    return [
      { endpoint: "/tools/echo", params: { ...params, properties } },
      { endpoint: "/tools/form", params, useForm: true, toolName: "form" }
    ]
  }
  listTools() {
    return [{ name: "echo" }, { name: "form" }]
  }
  callTool(_name: string, args: JsonObject) {
    return { ...args, file: typeof args["file"] }
  }
}

const folders = PackFolders.of({
  scan: () =>
    Effect.succeed([
      {
        name: "echo",
        path: "/packs/echo",
        files: ["echo_tool.ts"],
        config: Result.succeed({ enabled: true }),
        version: createHash("sha256").digest("hex")
      }
    ]),
  watch: () => Effect.never
})

const packRuntime = { enter: <A>(code: () => A): A => code(), compile: makeInterpreter(library), log: () => undefined }

const loader = PackLoader.of({
  load: (source) =>
    Effect.map(startPack({ EchoTool }, source, packRuntime), (loaded) => ({
      ...loaded,
      exited: Effect.never
    }))
})

const installer = PackInstaller.of({ install: () => Effect.succeed({}) })

const hosting = PackHost.layer({ folders: ["/packs"], watch: false }).pipe(
  Layer.provide(Layer.succeed(PackFolders, folders)),
  Layer.provide(Layer.succeed(PackLoader, loader)),
  Layer.provide(Layer.succeed(PackInstaller, installer))
)

const json = { "Content-Type": "application/json" }
const boundary = "xxxx"
const multipart = { "Content-Type": `multipart/form-data; boundary=${boundary}` }

const part = (head: string, body: string): string =>
  `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${body}\r\n`

const form = [
  part('name="text"', "hi"),
  part('name="list"', '["a","b"]'),
  part('name="file"; filename="a.txt"\r\nContent-Type: text/plain', "contents"),
  `--${boundary}--\r\n`
].join("")

const mcp = { ...json, Accept: "application/json, text/event-stream" }

const rpc = (method: string, more: object) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: more })

const hello = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "client", version: "1" }
}

/** Requests to a live tool server, next to a correct client. */
export const toolServerSurface: Surface = {
  name: "toolServer",
  about: "requests to a live tool server: JSON, forms, MCP, next to a correct client",
  weight: 1.5,
  lanes: 6,
  corpus: [
    requestOf("POST /tools/echo", json, '{"text":"hi","count":2,"list":["a"]}'),
    requestOf("POST /tools/form", multipart, form),
    requestOf("POST /tools/form", multipart, part("name=\"text\"; filename*=UTF-8''%41.txt", "x") + form),
    requestOf("POST /tools/echo", { ...json, Expect: "100-continue" }, "{}"),
    requestOf("POST /tools/form", { "Content-Type": "application/x-www-form-urlencoded" }, "text=a%20b&list=1&list=2"),
    requestOf("POST /mcp", mcp, rpc("initialize", hello)),
    requestOf("POST /mcp", mcp, rpc("tools/list", {})),
    requestOf(
      "POST /mcp",
      { ...mcp, "MCP-Protocol-Version": "2026-07-28" },
      rpc("tools/call", { name: "echo", arguments: { text: "x", file: "data:,x" } })
    ),
    requestOf("GET /mcp", { Accept: "text/event-stream", "Mcp-Session-Id": "none" }),
    requestOf("DELETE /mcp", { "Mcp-Session-Id": "none" }),
    requestOf("GET /"),
    requestOf("GET /tools"),
    requestOf("GET /docs"),
    requestOf("GET /openapi.json"),
    requestOf("HEAD /health"),
    requestOf("OPTIONS /tools/echo", { Origin: "http://127.0.0.1", "Access-Control-Request-Method": "POST" })
  ],
  words: [
    ["/tools/echo", "/tools/form", "/tools/%65cho", "/mcp"],
    [`--${boundary}`, `--${boundary}--`, `boundary=${boundary}`, "boundary="],
    ['name=""', 'name="__proto__"', 'filename="../../x"', 'filename="\u0000"', "filename*=UTF-8''%ff"],
    ["Content-Disposition: form-data; name=text\r\n", "Transfer-Encoding: chunked\r\n"],
    ["Content-Encoding: gzip\r\n", "charset=utf-16", "Content-Length: 5\r\n", "Expect: 100-continue\r\n"],
    ["5\r\nhello\r\n0\r\n\r\n", "\r\n\r\n", "\r\n"],
    ["%", "+", "&", "="],
    ['{"__proto__":1}', '"jsonrpc":"2.0"', '"method":"tools/call"', '"method":"ping"'],
    ['"id":null', '"progressToken":1', "[", "]"]
  ].flat(),
  longest: 20 * 1024,
  open: (note) =>
    Effect.gen(function* () {
      const host = Context.get(yield* Layer.build(hosting), PackHost)
      yield* host.rescan
      const { url } = yield* serveTools({
        port: 0,
        key: "allowAll",
        maxBodyBytes: 8192,
        maxFormBytes: 16 * 1024,
        maxFileBytes: 4096
      }).pipe(Effect.provideService(PackHost, host))
      const { begin, end } = makeWitness(async (turn) => {
        const answer = await fetch(`${url}/tools/echo`, {
          method: "POST",
          headers: json,
          body: JSON.stringify({ text: `turn ${turn}` })
        })
        return (await answer.text()).includes(`turn ${turn}`)
      })
      return {
        feed: (input: Buffer) => sendRequest(url, input),
        begin,
        settle: end,
        finish: () => Promise.resolve()
      }
    }).pipe(Effect.provide(errorsTo(note)))
}
