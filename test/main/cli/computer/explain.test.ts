import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { CommandFailed } from "../../../../src/main/CommandFailed.ts"
import { a2cInProcess } from "../inProcess.ts"
import { everythingServer, temporaryFile } from "../../processes.ts"

/** Processes start slowly on a busy machine. */
const policy = `rules:
  - action: deny
    office: lab
    reason: the lab only watches
  - action: allow
    tool: echo
    arguments: { message: { matches: "hello*" } }
`

/** Explains a call of the tool \`echo\` by the policy. */
const explain = Effect.fnUntraced(function* (...args: ReadonlyArray<string>) {
  const servers = { everything: { type: "stdio", command: process.execPath, args: [everythingServer, "stdio"] } }
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ servers }))
  const rules = yield* temporaryFile("policy.yaml", policy)
  const place = ["--config", config, "--policy", rules, "--name", "desk"]
  return yield* a2cInProcess("computer", "explain", ...place, ...args)
})

describe("a2c computer explain", () => {
  it.live("prints the rules up to the one that decides", () =>
    Effect.gen(function* () {
      const { failure, stdout } = yield* explain("--tool", "echo", "--args", '{"message":"hello you"}')
      assert.isUndefined(failure)
      assert.deepStrictEqual(stdout.split("\n"), [
        "tool      echo of the MCP server everything",
        "caller    agent",
        "rule 1    deny: does not apply, by its office",
        "rule 2    allow: applies",
        "decision  allow, by rule 2: the call runs",
        ""
      ])
    })
  )

  it.live("prints the reason of a denial in the named office as JSON", () =>
    Effect.gen(function* () {
      const { stdout } = yield* explain("--tool", "echo", "--office", "lab", "--json")
      const { call, decision } = JSON.parse(stdout)
      assert.deepStrictEqual(decision, { action: "deny", by: "rule 1", reason: "the lab only watches" })
      assert.strictEqual(call.office, "lab")
    })
  )

  it.live("tells that a call needs an approval that this Computer cannot ask for", () =>
    Effect.gen(function* () {
      const { stdout } = yield* explain("--tool", "echo", "--args", '{"message":"bye"}')
      assert.include(stdout, "rule 2    allow: does not apply, by its arguments.message\n")
      assert.include(
        stdout,
        "decision  ask, by default: the call needs an approval, for which this Computer cannot ask: 4005\n"
      )
    })
  )

  it.live("names the tools when the tool is unknown", () =>
    Effect.gen(function* () {
      const { failure } = yield* explain("--tool", "ecko")
      assert.instanceOf(failure, CommandFailed)
      assert.match(failure.message, /^No tool 'ecko' is at this Computer: did you mean 'echo'\?$/)
    })
  )
})
