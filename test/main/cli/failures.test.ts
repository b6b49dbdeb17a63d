import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { run, temporaryFile } from "../processes.ts"

const unreachable = ["agent", "--server", "http://127.0.0.1:9", "--office", "o"]

describe("a failed command", () => {
  it.live("begins a usage error with the error, and points to the help", () =>
    Effect.gen(function* () {
      for (const [args, expected] of [
        [["agent", "--office", "o", "call"], /^a2c: Missing required argument: tool\nSee 'a2c agent call --help'\.\n$/],
        [["agent", "members"], /^a2c: Missing required flag: --office\nSee 'a2c agent members --help'\.\n$/],
        [["server", "--prt", "1"], /^a2c: .*--prt.*\n(a2c: .*\n)*See 'a2c server --help'\.\n$/],
        [["nonsense"], /^a2c: .*nonsense.*\n(a2c: .*\n)*See 'a2c --help'\.\n$/]
      ] as const) {
        const { code, stderr, stdout } = yield* run(...args)
        assert.deepStrictEqual([code, stdout], [1, ""])
        assert.match(stderr, expected)
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
        [["agent", "--json", "members"], { code: "usage", message: "Missing required flag: --office" }],
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
