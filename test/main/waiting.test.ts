import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { openProxy } from "../chaos/Proxy.ts"
import { a2c, startServer, temporaryFile } from "./processes.ts"

/** The URL of a Server that starts later. */
const later = Effect.gen(function* () {
  let port: number | undefined
  const proxy = yield* openProxy({ target: () => port })
  const start = Effect.gen(function* () {
    port = Number(new URL((yield* startServer()).url).port)
  })
  return { start, url: `http://127.0.0.1:${proxy.port}` }
})

const place = (server: string, office: string, name: string) => ["--server", server, "--office", office, "--name", name]

describe("command without a Server", () => {
  it.live("rejects an invalid URL at once", () =>
    Effect.gen(function* () {
      const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: {} }))
      for (const command of [
        ["computer", ...place("desk.local:7070", "o", "desk"), "--config", config],
        ["agent", ...place("desk.local:7070", "o", "watcher"), "watch"]
      ]) {
        const process = yield* a2c(...command)
        assert.strictEqual(yield* process.ended, 1)
        assert.match(process.stderr(), /^a2c: --server: expected a URL with its scheme, like http:[^\n]*\nSee 'a2c/)
      }
    })
  )

  it.live("waits for the Server when it is long-running, and fails at once otherwise", () =>
    Effect.gen(function* () {
      const { start, url } = yield* later
      const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers: {} }))
      const desk = yield* a2c("computer", ...place(url, "o", "desk"), "--config", config)
      const bridge = yield* a2c("agent", ...place(url, "o", "bridge"), "mcp", "--http", "0")
      const watcher = yield* a2c("agent", ...place(url, "p", "watcher"), "watch", "--log-level", "debug")
      for (const process of [desk, bridge, watcher]) yield* process.prints("join failed, retrying", "stderr")

      for (const hasty of [["members"], ["call", "echo"], ["mcp"]]) {
        const process = yield* a2c("agent", ...place(url, "o", "hasty"), ...hasty)
        assert.strictEqual(yield* process.ended, 1)
        assert.match(process.stderr(), /^a2c: Cannot reach http/)
      }

      yield* start
      yield* desk.prints("joined office o as desk")
      yield* bridge.prints("publishing office o at ")
      yield* watcher.prints("joined office", "stderr")
      yield* a2c("computer", ...place(url, "p", "lamp"), "--config", config)
      yield* watcher.prints("computer lamp entered")
    })
  )
})
