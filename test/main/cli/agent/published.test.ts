import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { agentLayer } from "../../../../src/main/layers/agentLayer.ts"
import { connectHttp } from "../../../adapters/mcp/publish/clients.ts"
import { tool } from "../../../conformance/members.ts"
import { unusedUrl } from "../../../loopbackAddress.ts"
import { a2cInProcess, a2cRunning, deskInProcess, serverInProcess } from "../inProcess.ts"

const publishing = "publishing office team at "

/** A published office with the tool `echo` of the Computer `desk`, and the command that publishes it. */
const published = Effect.gen(function* () {
  const serverUrl = yield* serverInProcess
  yield* deskInProcess({ url: serverUrl, office: "team" }, [tool("echo")])
  const command = yield* a2cRunning("agent", "--server", serverUrl, "--office", "team", "mcp", "--http", "0")
  return { command, serverUrl, url: (yield* command.prints(publishing)).replace(publishing, "") }
})

describe("an office that a command publishes", () => {
  it.live("shows the calls of its hosts on its page", () =>
    Effect.gen(function* () {
      const { url } = yield* published
      const page = url.replace(/mcp$/, "office/api")
      const { request } = yield* connectHttp(url)
      yield* request("tools/call", { name: "desk__echo", arguments: {} })
      const snapshot = yield* Effect.promise(async () => {
        const session = await fetch(`${page}/session`)
        const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? ""
        const { body } = await fetch(`${page}/events`, { headers: { cookie } })
        const reader = (body ?? assert.fail("no events")).pipeThrough(new TextDecoderStream()).getReader()
        let text = ""
        while (!text.includes("\n")) text += (await reader.read()).value ?? ""
        await reader.cancel()
        return text
      })
      assert.match(snapshot, /"tool":"echo"[^}]*"outcome":"ok"/)
    })
  )

  it.live("ends when another Agent takes its place", () =>
    Effect.gen(function* () {
      const { command, serverUrl } = yield* published
      yield* Layer.build(agentLayer({ url: serverUrl, office: "team", name: "a2c-agent", takeOver: true }))
      assert.include(String(yield* command.ended), "Replaced in office 'team'")
    })
  )
})

describe("a Server that cannot be reached", () => {
  const place = () => ["agent", "--server", unusedUrl(), "--office", "team"]

  it.live.each(["mcp", "members"])("fails the command: %s", (word) =>
    Effect.gen(function* () {
      const { failure } = yield* a2cInProcess(...place(), word)
      assert.include(String(failure), "Cannot reach")
    })
  )

  it.live.each(["mcp --http 0", "watch"])("is tried again by the command: %s", (words) =>
    Effect.gen(function* () {
      const { prints } = yield* a2cRunning(...place(), ...words.split(" "))
      yield* prints("join failed, retrying", "stderr")
    })
  )
})
