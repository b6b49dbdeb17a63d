import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readCommands } from "../../../scripts/reference/commands.ts"

/** The commands with a row for each flag, which the compiler requires there. */
const withRows: ReadonlySet<string> = new Set([
  "a2c server",
  "a2c server health",
  "a2c server key",
  "a2c server status",
  "a2c tools call",
  "a2c tools list",
  "a2c tools new",
  "a2c tools serve",
  "a2c computer",
  "a2c computer check",
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

/** The flags with a row, of commands with other flags that have none. */
const partly: { readonly [command: string]: ReadonlySet<string> } = {
  "a2c computer explain": new Set([
    "approve",
    "approvers",
    "args",
    "config",
    "input",
    "json",
    "name",
    "office",
    "policy",
    "subject",
    "tool"
  ])
}

/** The flags without a row. A new flag gets a row instead. */
const withoutRows: { readonly [command: string]: ReadonlyArray<string> } = {
  // They select among standing approvals, which the file of `approvals` holds.
  "a2c computer explain": ["approvals", "protocol", "server"],
  "a2c demo": ["page"]
}

describe("the command line", () => {
  it.live("has a row for each flag, except the listed ones", () =>
    Effect.gen(function* () {
      const commands = yield* readCommands
      const shared = new Set(commands.find(({ path }) => path === "a2c agent")?.doc.flags.map(({ name }) => name))
      const found = commands.flatMap(({ doc, path }) => {
        const own = doc.flags
          .map(({ name }) => name)
          .filter((name) => !path.startsWith("a2c agent") || !shared.has(name))
        const missing = own.filter((name) => !partly[path]?.has(name))
        return withRows.has(path) || missing.length === 0 ? [] : [[path, missing.toSorted()] as const]
      })
      assert.deepStrictEqual(Object.fromEntries(found), withoutRows)
      const paths = commands.map(({ path }) => path)
      assert.deepStrictEqual(
        [...withRows].filter((path) => !paths.includes(path)),
        []
      )
    })
  )
})
