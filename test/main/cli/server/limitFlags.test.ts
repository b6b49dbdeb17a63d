import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { io } from "socket.io-client"
import { limitsTable } from "../../../../src/main/cli/server/limitFlags.ts"
import { a2c, cli, node } from "../../processes.ts"

/** Connects; succeeds with "connected" or the message of the error. */
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

const urlOf = (line: string) => line.replace("listening on ", "")

/** The ping interval and timeout in milliseconds, as the handshake of Engine.IO states them. */
const pingsOf = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}/smcp/?EIO=4&transport=polling&a2c_version=0.2.0`)
    const [, interval, timeout] = /"pingInterval":(\d+),"pingTimeout":(\d+)/.exec(await response.text()) ?? []
    return [Number(interval), Number(timeout)]
  })

describe("keepalive of a2c server", () => {
  it.live("pings every ten seconds, or as flags and variables set it", () =>
    Effect.gen(function* () {
      const command = ["server", "--port", "0"]
      const defaults = yield* a2c(...command)
      const byFlag = yield* a2c(...command, "--ping-interval", "3", "--ping-timeout", "1")
      const variables = { A2C_PING_INTERVAL: "300", A2C_PING_TIMEOUT: "5" }
      const byVariable = yield* node([cli, ...command], variables)
      for (const [process, pings] of [
        [defaults, [10_000, 20_000]],
        [byFlag, [3000, 1000]],
        [byVariable, [300_000, 5000]]
      ] as const) {
        assert.deepStrictEqual(yield* pingsOf(urlOf(yield* process.prints("listening on "))), [...pings])
      }
      for (const flag of ["--ping-interval", "--ping-timeout"]) {
        const rejected = yield* a2c(...command, flag, "0")
        assert.strictEqual(yield* rejected.ended, 1)
        assert.include(rejected.stderr(), "a number from 1 to 300")
      }
    })
  )
})

describe("limits of a2c server", () => {
  it("matches the table of docs/limits.md", () => {
    const isListed = readFileSync("docs/limits.md", "utf8").includes(`\n\n${limitsTable}\n\n`)
    assert.isTrue(isListed, `copy the printed table to docs/limits.md:\n${limitsTable}\n`)
  })

  it.live("sets a limit by flag or variable", () =>
    Effect.gen(function* () {
      const byFlag = yield* a2c("server", "--port", "0", "--max-connections", "1")
      const byVariable = yield* node([cli, "server", "--port", "0"], { A2C_MAX_CONNECTIONS: "1" })
      for (const process of [byFlag, byVariable]) {
        const url = urlOf(yield* process.prints("listening on "))
        assert.strictEqual(yield* connecting(url), "connected")
        assert.include(yield* connecting(url), "1 connections")
        yield* process.signal("SIGTERM")
        assert.strictEqual(yield* process.ended, 0)
      }
    })
  )

  it.live("rejects an invalid limit with the accepted range", () =>
    Effect.gen(function* () {
      const process = yield* a2c("server", "--port", "0", "--max-name-length", "257")
      assert.strictEqual(yield* process.ended, 1)
      assert.include(process.stderr(), "a number from 1 to 256")
    })
  )
})
