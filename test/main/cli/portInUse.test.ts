import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2cInProcess, messageOf, serverInProcess } from "./inProcess.ts"
import { temporaryFile } from "./../processes.ts"

const config = temporaryFile("mcp.json", '{"mcpServers":{}}')

describe("a port that is in use", () => {
  it.live("is reported with the flag and the variable that choose another", () =>
    Effect.gen(function* () {
      const { port } = new URL(yield* serverInProcess)
      for (const [args, choice] of [
        [["server", "--port", port], "--port or A2C_PORT"],
        [["devices", "gateway", "--tcp", port], "--tcp or A2C_DEVICES_TCP"],
        [["devices", "gateway", "--tcp", "0", "--http", port], "--http"],
        [["tools", "serve", "--port", port], "--port or PORT"],
        [["computer", "--run", "status", "--config", yield* config, "--dpe", `http:${port}`], "--dpe or A2C_DPE"]
      ] as const) {
        const message = messageOf((yield* a2cInProcess(...args)).failure)
        assert.include(message, `:${port}: the address is in use; choose another by ${choice}, or 0 for a free one`)
      }
    })
  )
})
