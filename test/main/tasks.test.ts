import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { z } from "zod"
import { computer, office, published, server } from "./offices.ts"
import { run } from "./processes.ts"

const everything = ["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
const research = "simulate-research-query"

const connect = (url: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "host", version: "1" })
      await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport)
      return client
    }),
    // Its bridge may be gone.
    (client) => Effect.promise(() => client.close().catch(() => undefined))
  )

const request = (client: Client, method: string, params: object) =>
  Effect.promise(() => client.request({ method, params: { ...params } }, z.looseObject({})))

describe("a2c tasks", () => {
  it.live("gives a host the result of a call that outlived the published office, killed meanwhile", () =>
    Effect.gen(function* () {
      const there = yield* office
      yield* there.desk.prints("MCP server ready", "stderr", 2)
      const first = yield* published(there)
      const started = yield* request(yield* connect(first.url), "tools/call", {
        name: `desk__${research}`,
        arguments: { topic: "tea" },
        task: { ttl: 60_000 }
      })
      const { taskId } = started["task"] as { readonly taskId: string }
      yield* first.bridge.signal("SIGKILL")
      yield* first.bridge.ended
      const second = yield* published(there)
      const result = yield* request(yield* connect(second.url), "tasks/result", { taskId })
      assert.include(JSON.stringify(result["content"]), "Research Report: tea")
    })
  )

  it.live("says that a restarted Computer does not know a call, and runs it no second time", () =>
    Effect.gen(function* () {
      const url = yield* server
      const servers = { everything: { command: process.execPath, args: everything } }
      const desk = yield* computer(url, "team", "desk", servers)
      const place = ["--server", url, "--office", "team"]
      const start = yield* run("agent", ...place, "start", research, "topic=tea")
      assert.strictEqual(start.code, 0)
      const id = start.stdout.trim()
      yield* desk.signal("SIGKILL")
      yield* desk.ended
      yield* computer(url, "team", "desk", servers)
      const task = yield* run("agent", ...place, "task", id)
      assert.strictEqual(task.code, 1)
      assert.include(task.stderr, "does not know this task")
    })
  )

  it.live("waits for the result, and passes the progress, by a later command", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "team", "desk", { everything: { command: process.execPath, args: everything } })
      const place = ["--server", url, "--office", "team"]
      const start = yield* run("agent", ...place, "start", research, "topic=tea")
      const task = yield* run("agent", ...place, "task", start.stdout.trim())
      assert.strictEqual(task.code, 0)
      assert.include(task.stdout, "Research Report: tea")
      assert.include(task.stderr, "progress at desk")
    })
  )
})
