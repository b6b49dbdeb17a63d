import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { node } from "../processes.ts"

const { exports, peerDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly exports: { readonly [path: string]: unknown }
  readonly peerDependencies: { readonly effect: string }
}

/** Plants another version of effect, with which the modules of its services for Node cannot be imported. */
const planted = (version: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from "node:module"
    registerHooks({
      load: (url, context, next) =>
        url.endsWith("/effect/dist/internal/version.js")
          ? { format: "module", source: "export const version = '${version}'", shortCircuit: true }
          : url.includes("/platform-node/")
            ? { format: "module", source: "import 'effect/Missing'", shortCircuit: true }
            : next(url, context)
    })
  `)}`

/** Imports an entry point of the package by its sources, and prints the message of a failure. */
const importing = (path: string, version: string) =>
  node([
    "--import",
    planted(version),
    "--conditions=a2c-source",
    "--input-type=module",
    "--eval",
    `await import("${path.replace(".", "a2c-smcp")}").then(() => console.log("imported"), ({ message }) => console.log(message))`
  ])

describe("check of the version of effect", () => {
  for (const path of Object.keys(exports).filter((name) => name !== "./package.json")) {
    it.live(`fails the import of ${path} with one sentence`, () =>
      Effect.gen(function* () {
        for (const version of ["3.22.4", "4.0.6", "5.0.0"]) {
          const other = yield* importing(path, version)
          assert.strictEqual(yield* other.ended, 0)
          assert.strictEqual(
            other.stdout(),
            `a2c-smcp: effect 4.1 or a later 4.x is required, this is ${version}: npm install effect@4\n`
          )
        }
      })
    )
  }

  it.live("accepts the range of the peer dependency", () =>
    Effect.gen(function* () {
      for (const version of [peerDependencies.effect.replace("^", ""), "4.1.3", "4.12.0"]) {
        const other = yield* importing("./tools", version)
        assert.deepStrictEqual([yield* other.ended, other.stdout()], [0, "imported\n"])
      }
    })
  )
})
