import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { node, sourceCli } from "../processes.ts"

const { engines } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly engines: { readonly node: string } }
const required = engines.node.replace(">=", "")

const sentence = (version: string) => `Node ${required} or later is required, this is v${version}`

/** Makes Node pretend to be another runtime before it loads the program. */
const pretending = (versions: object): ReadonlyArray<string> => [
  "--import",
  `data:text/javascript,Object.defineProperty(process,"versions",{value:${encodeURIComponent(
    JSON.stringify({ ...process.versions, ...versions })
  )}})`
]

/** Imports an entry point of the package by its sources, and prints the message of a failure. */
const importing = (entry: string, versions: object) =>
  node([
    ...pretending(versions),
    "--input-type=module",
    "--eval",
    `await import(${JSON.stringify(new URL(`../../../src/main/entrypoints/${entry}.ts`, import.meta.url).href)}).then(
      () => console.log("imported"),
      ({ message }) => console.log(message)
    )`
  ])

describe("check of the Node version", () => {
  it.live("ends the command with one sentence and exit code 1", () =>
    Effect.gen(function* () {
      const old = yield* node([...pretending({ node: "20.20.2" }), sourceCli, "--version"])
      assert.strictEqual(yield* old.ended, 1)
      assert.strictEqual(old.stderr(), `a2c: ${sentence("20.20.2")}\n`)
      assert.strictEqual(old.stdout(), "")
    })
  )

  for (const entry of ["index", "promise", "agent", "llm", "testing", "tools"]) {
    it.live(`fails the import of ${entry} with the same sentence`, () =>
      Effect.gen(function* () {
        const old = yield* importing(entry, { node: "22.18.0" })
        assert.strictEqual(yield* old.ended, 0)
        assert.strictEqual(old.stdout(), `a2c-smcp: ${sentence("22.18.0")}\n`)
      })
    )
  }

  for (const [runtime, versions] of [
    ["Bun", { bun: "1.2.0", node: "22.6.0" }],
    ["Deno", { deno: "2.1.0", node: "20.11.1" }],
    ["the lowest supported version", { node: `${required}.0` }]
  ] as const) {
    it.live(`accepts ${runtime}`, () =>
      Effect.gen(function* () {
        const other = yield* importing("tools", versions)
        assert.strictEqual(yield* other.ended, 0)
        assert.strictEqual(other.stdout(), "imported\n")
      })
    )
  }

  it.live("leaves out the domain, which runs everywhere", () =>
    Effect.gen(function* () {
      const old = yield* importing("domain", { node: "20.20.2" })
      assert.strictEqual(yield* old.ended, 0)
      assert.strictEqual(old.stdout(), "imported\n")
    })
  )
})
