import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { run, temporaryFile } from "../processes.ts"

const unreachable = ["agent", "--server", "http://127.0.0.1:9", "--office", "o"]

const invalidFlag = (flag: string, value: string, expected: string): string =>
  `Invalid value for flag ${flag}: ${JSON.stringify(value)}. Expected: ${expected}`

describe("a failed command", () => {
  it.live("begins a usage error with the error, and points to the help", () =>
    Effect.gen(function* () {
      for (const [args, problem, command] of [
        [["agent", "--office", "o", "call"], "Missing <tool>", "a2c agent call"],
        [["agent", "members"], "Missing --office", "a2c agent members"],
        [["agent", "call"], "Missing --office, <tool>", "a2c agent call"],
        [["agent", "call", "--computer", "desk"], "Missing --office, <tool>", "a2c agent call"],
        [["server", "--prt", "1"], "Unknown flag --prt: did you mean '--port'?", "a2c server"],
        [["agent", "--ofice", "o", "tools"], "Unknown flag --ofice: did you mean '--office'?", "a2c agent"],
        [["agent", "tools", "--ofice", "o"], "Unknown flag --ofice: did you mean '--office'?", "a2c agent tools"],
        [["agent", "tools", "--frob"], "Unknown flag --frob", "a2c agent tools"],
        [["--take-over", "agent", "tools"], "--take-over belongs behind 'a2c agent tools'", "a2c agent tools"],
        [["server", "--port", "1e9"], invalidFlag("--port", "1e9", "a port from 0 to 65535"), "a2c server"],
        [["server", "--port=080000"], invalidFlag("--port", "080000", "a port from 0 to 65535"), "a2c server"],
        [
          ["agent", "--office", "o", "mcp", "--max-result", "1KiB"],
          invalidFlag("--max-result", "1KiB", "a size from 4KiB"),
          "a2c agent mcp"
        ],
        [["server", "--port", "3x"], 'Invalid value for flag --port: "3x". Expected a number', "a2c server"],
        [["nonsense"], "'a2c' has no subcommand 'nonsense'", "a2c"],
        [
          ["agent", "--office", "o", "toolz"],
          "'a2c agent' has no subcommand 'toolz': did you mean 'tools'?",
          "a2c agent"
        ],
        [["agent", "cal", "--help"], "'a2c agent' has no subcommand 'cal': did you mean 'call'?", "a2c agent"]
      ] as const) {
        const { code, stderr, stdout } = yield* run(...args)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.strictEqual(stderr, `a2c: ${problem}\nSee '${command} --help'.\n`)
      }
    })
  )

  it.live("prints its error as one JSON object with --json", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFile("wrong.json", "[")
      for (const [args, error] of [
        [
          [...unreachable, "--json", "members"],
          { code: "unreachable", message: "Cannot reach http://127.0.0.1:9: connection refused" }
        ],
        [["agent", "--json", "members"], { code: "usage", message: "Missing --office" }],
        [[...unreachable, "--json", "call", "x", `@${file}`], { code: "failed", message: `${file} is not JSON` }],
        [
          ["server", "status", "--json", "ftp://host"],
          {
            code: "failed",
            message: '"ftp://host" is not the URL of a Server: expected one like http://127.0.0.1:7070'
          }
        ]
      ] as const) {
        const { code, stderr, stdout } = yield* run(...args)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, /^\{.*\}\n$/)
        assert.deepStrictEqual(JSON.parse(stderr), { error })
      }
    })
  )
})
