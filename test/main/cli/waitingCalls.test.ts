import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { Confirm } from "../../../src/application/computer/ComputerSettings.ts"
import { textResult, tool } from "../../conformance/members.ts"
import { a2cInProcess, deskInProcess, serverInProcess } from "./inProcess.ts"

/** A server whose process never speaks MCP. */
const silent = { command: process.execPath, args: ["-e", "process.stdin.resume()"] }

/** An office with a Computer `desk` that has a tool `t`, and a server that keeps starting. Gives `a2c agent call`. */
const office = Effect.fnUntraced(function* (starting: string, hooks: { readonly confirm?: Confirm } = {}) {
  const url = yield* serverInProcess
  const steps = tool("steps", (_params, { progress }) =>
    Effect.as(progress({ progress: 1, total: 4, message: "on its way\u001b[2J" }), textResult("arrived"))
  )
  const servers = {
    alpha: { type: "stdio", server_parameters: { command: "-" } },
    [starting]: { type: "stdio", server_parameters: silent }
  }
  const settings = { startupTimeout: Duration.seconds(1) }
  yield* deskInProcess({ url, office: "o" }, [tool("t"), steps], { servers, settings, ...hooks })
  return (...args: ReadonlyArray<string>) =>
    a2cInProcess("agent", "--server", url, "--office", "o", "--name", "thinker", "call", ...args)
})

describe("agent call", () => {
  it.live("says at which Computer it waits for consent", () =>
    Effect.gen(function* () {
      // Longer than the time after which a wait is reported.
      const call = yield* office("slow", { confirm: () => Effect.delay(Effect.succeed(true), "1 second") })
      const { failure, stderr, stdout } = yield* call("t")
      assert.deepStrictEqual([failure, stdout], [undefined, "t\n"])
      assert.match(
        stderr,
        /^a2c: waiting for an approval at desk, for at most 5m; to be given, as its owner permits, at its terminal, on the office page or by this Agent\n {2}a2c agent --server http:\S+ --office o --name thinker approvals allow \w{8}$/m
      )
    })
  )

  it.live("prints the progress of the tool, escaped", () =>
    Effect.gen(function* () {
      const call = yield* office("slow", { confirm: () => Effect.succeed(true) })
      const { stderr, stdout } = yield* call("steps")
      assert.strictEqual(stdout, "arrived\n")
      assert.include(stderr, String.raw`a2c: progress at desk: 1 of 4, on its way\u001b[2J${"\n"}`)
    })
  )

  it.live("names the servers that start, escaped and in one line", () =>
    Effect.gen(function* () {
      const call = yield* office("slow\u001b[2J\nno")
      const { failure, stderr } = yield* call("late", "--timeout", "2")
      assert.include(stderr, String.raw`a2c: waiting for servers that start at desk: slow\u001b[2J\nno${"\n"}`)
      assert.include(String(failure), "MCP servers that are still starting: slow")
    })
  )
})
