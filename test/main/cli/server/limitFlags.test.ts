import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { io } from "socket.io-client"
import { run, startServer } from "../../processes.ts"
import { limitsTable } from "./limitsTable.ts"

/** Connects; succeeds with "connected" or the message of the error. */
const connecting = (url: string) =>
  Effect.callback<string>((resume) => {
    const query = { a2c_version: "0.2.0" }
    const socket = io(`${url}/smcp`, { path: "/smcp", query, forceNew: true, reconnection: false })
    socket.once("connect", () => resume(Effect.succeed("connected")))
    socket.once("connect_error", ({ message }) => resume(Effect.succeed(message)))
  })

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
      for (const [flags, variables, pings] of [
        [[], {}, [10_000, 20_000]],
        [["--ping-interval", "3", "--ping-timeout", "1"], {}, [3000, 1000]],
        [[], { A2C_PING_INTERVAL: "300", A2C_PING_TIMEOUT: "5" }, [300_000, 5000]]
      ] as const) {
        const { url } = yield* startServer(flags, variables)
        assert.deepStrictEqual(yield* pingsOf(url), [...pings])
      }
      for (const flag of ["--ping-interval", "--ping-timeout"]) {
        const { code, stderr } = yield* run("server", "--port", "0", flag, "0")
        assert.strictEqual(code, 1)
        assert.include(stderr, "a number from 1 to 300")
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
      const byFlag = yield* startServer(["--max-connections", "1"])
      const byVariable = yield* startServer([], { A2C_MAX_CONNECTIONS: "1" })
      for (const { process, url } of [byFlag, byVariable]) {
        assert.strictEqual(yield* connecting(url), "connected")
        assert.include(yield* connecting(url), "1 connections")
        yield* process.signal("SIGTERM")
        assert.strictEqual(yield* process.ended, 0)
      }
    })
  )

  it.live("rejects an invalid limit with the accepted range", () =>
    Effect.gen(function* () {
      const { code, stderr } = yield* run("server", "--port", "0", "--max-name-length", "257")
      assert.strictEqual(code, 1)
      assert.include(stderr, "a number from 1 to 256")
    })
  )
})
