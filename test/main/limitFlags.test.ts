import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { io } from "socket.io-client"
import { limitsTable } from "../../src/main/cli/limits.ts"
import { a2c, cli, node } from "./processes.ts"

/** Connects, and gives what the Server says to it. */
const connecting = (url: string) =>
  Effect.callback<string>((resume) => {
    const socket = io(`${url}/smcp`, {
      path: "/smcp",
      query: { a2c_version: "0.2.0" },
      forceNew: true,
      reconnection: false
    })
    socket.once("connect", () => resume(Effect.succeed("connected")))
    socket.once("connect_error", ({ message }) => resume(Effect.succeed(message)))
  })

const urlOf = (said: string) => said.replace("listening on ", "")

describe("the limits of a2c server", () => {
  it("stand in docs/limits.md as they are in the code", () => {
    assert.include(readFileSync("docs/limits.md", "utf8"), `\n\n${limitsTable}\n\n`)
  })

  it.live(
    "are set by flags and by variables",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const byFlag = yield* a2c("server", "--port", "0", "--max-connections", "1")
          const byVariable = yield* node([cli, "server", "--port", "0"], { A2C_MAX_CONNECTIONS: "1" })
          for (const process of [byFlag, byVariable]) {
            const url = urlOf(yield* process.says("listening on "))
            assert.strictEqual(yield* connecting(url), "connected")
            assert.include(yield* connecting(url), "1 connections")
            yield* process.signal("SIGTERM")
            assert.strictEqual(yield* process.ended, 0)
          }
        })
      ),
    60_000
  )

  it.live(
    "are refused with what they may be",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const process = yield* a2c("server", "--port", "0", "--max-name-length", "257")
          assert.strictEqual(yield* process.ended, 1)
          assert.include(process.stderr(), "a number from 1 to 256")
        })
      ),
    60_000
  )
})
