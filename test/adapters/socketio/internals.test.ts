import { readdirSync, readFileSync } from "node:fs"
import { Agent, createServer, type IncomingMessage, request, type Server } from "node:http"
import { Agent as SecureAgent } from "node:https"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { decideUpgrades, interceptEvents, observeRequests } from "../../../src/adapters/socketio/internals.ts"
import { fetchText } from "../../fetchText.ts"

/** The private fields of other packages that this package uses. */
const privateFields = ["shouldUpgradeCallback", "addRequest"]

/** The source of the adapters below the network, by file. */
const sources = ["socketio", "http", "tcp"].flatMap((name) => {
  const folder = new URL(`../../../src/adapters/${name}/`, import.meta.url)
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => [`${name}/${file}`, readFileSync(new URL(file, folder), "utf8")] as const)
})

const uses = (pattern: RegExp) =>
  sources.flatMap(([file, text]) => Array.from(text.matchAll(pattern), ([, field]) => `${file} ${field}`))

/** The URL of a server that listens until the scope closes. */
const listening = (http: Server) =>
  Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      http.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed(`http://127.0.0.1:${(http.address() as AddressInfo).port}`))
      )
    }),
    () =>
      Effect.callback<void>((resume) => {
        http.closeAllConnections()
        http.close(() => resume(Effect.void))
      })
  )

describe("the code of the adapters below the network", () => {
  it("uses two private fields of other packages, both of Node", () => {
    const found = uses(/fields\["(\w+)"\]/g)
    assert.deepStrictEqual(
      [...new Set(found)],
      privateFields.map((field) => `socketio/internals.ts ${field}`)
    )
  })

  it("uses no field whose name begins with an underscore", () => {
    assert.deepStrictEqual(uses(/(?:\.|"|readonly |\{ )(_(?!tag\b)[a-z]\w*)/g), [])
  })
})

describe("a server of Node", () => {
  it.live("passes upgrades by the decision, and by its own after it", () =>
    Effect.gen(function* () {
      const http = createServer((_, response) => void response.end("plain"))
      const url = yield* listening(http)
      http.on("upgrade", (_request, socket) => void socket.end("HTTP/1.1 418 Teapot\r\n\r\n"))
      const status = Effect.callback<number>((resume) => {
        const sent = request(url, { headers: { Connection: "Upgrade", Upgrade: "x" } })
        sent.on("response", (response: IncomingMessage) => {
          response.resume()
          resume(Effect.succeed(response.statusCode ?? 0))
        })
        sent.end()
      })
      const restore = decideUpgrades(http, () => false)
      assert.strictEqual(yield* status, 200)
      restore()
      assert.strictEqual(yield* status, 418)
    })
  )

  it.live("offers its events to a function before its listeners", () =>
    Effect.gen(function* () {
      const http = createServer((_, response) => void response.end("listener"))
      const url = yield* listening(http)
      const restore = interceptEvents(http, (event, [, response]) => {
        if (event !== "request") return false
        ;(response as { readonly end: (text: string) => void }).end("function")
        return true
      })
      assert.strictEqual(yield* fetchText(url), "function")
      restore()
      assert.strictEqual(yield* fetchText(url), "listener")
    })
  )
})

describe("an agent of Node", () => {
  it("reports its requests before they are sent", () => {
    for (const agent of [new Agent(), new SecureAgent()]) {
      const seen: Array<unknown> = []
      observeRequests(agent, (sent) => void seen.push(sent))
      const sent = request({
        agent,
        host: "localhost",
        port: 9,
        protocol: agent instanceof SecureAgent ? "https:" : "http:"
      })
      sent.on("error", () => undefined)
      sent.destroy()
      assert.deepStrictEqual(seen, [sent])
    }
  })
})
