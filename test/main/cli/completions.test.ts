import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { a2cInProcess } from "./inProcess.ts"

describe("a2c --completions", () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    it.live(`completes commands and flags in ${shell}`, () =>
      Effect.gen(function* () {
        const { failure, stdout } = yield* a2cInProcess("--completions", shell)
        assert.isUndefined(failure)
        for (const word of ["server", "computer", "agent", "devices", "tools", "members", "gateway", "token-file"]) {
          assert.include(stdout, word)
        }
      })
    )
  }
})
