import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readCommands } from "../../../scripts/reference/commands.ts"

/** The commands with a row for each flag, which the compiler requires there. */
const withRows: ReadonlySet<string> = new Set([
  "a2c server",
  "a2c server health",
  "a2c server key",
  "a2c server status",
  "a2c server token",
  "a2c tools call",
  "a2c tools list",
  "a2c tools new",
  "a2c tools serve",
  "a2c computer",
  "a2c computer check",
  "a2c computer explain",
  "a2c demo",
  "a2c devices connect",
  "a2c devices gateway",
  "a2c agent",
  ...[
    "approvals",
    "call",
    "config",
    "desktop",
    "dpe",
    "find",
    "mcp",
    "members",
    "mcp config",
    "prompt",
    "prompts",
    "put",
    "resources",
    "skill",
    "skills",
    "start",
    "task",
    "tool",
    "tools"
  ].map((name) => `a2c agent ${name}`)
])

describe("the command line", () => {
  it.live("has a row for each flag", () =>
    Effect.gen(function* () {
      const commands = yield* readCommands
      const shared = new Set(commands.find(({ path }) => path === "a2c agent")?.doc.flags.map(({ name }) => name))
      const withoutRows = commands.flatMap(({ doc, path }) =>
        withRows.has(path)
          ? []
          : doc.flags
              .map(({ name }) => name)
              .filter((name) => !path.startsWith("a2c agent") || !shared.has(name))
              .map((name) => `${path} --${name}`)
      )
      assert.deepStrictEqual(withoutRows, [])
      const paths = commands.map(({ path }) => path)
      assert.deepStrictEqual(
        [...withRows].filter((path) => !paths.includes(path)),
        []
      )
    })
  )
})
