import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { node } from "./main/processes.ts"
import { alive, descendants, gone } from "./processes.ts"

const start = Effect.fnUntraced(function* (seconds: number) {
  const parent = yield* node([fileURLToPath(new URL("fixtures/guardedChild.ts", import.meta.url)), String(seconds)])
  const pid = Number((yield* parent.prints("started ")).slice("started ".length))
  return { parent, pid }
})

describe("child process with a guard", () => {
  for (const signal of ["SIGTERM", "SIGHUP", "SIGKILL"] as const) {
    it.live(`ends with its parent on ${signal}, though it is stopped`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { parent, pid } = yield* start(600)
          assert.isTrue(alive(pid))
          process.kill(pid, "SIGSTOP")
          yield* parent.signal(signal)
          yield* gone([pid])
        })
      )
    )
  }

  it.live("leaves no process behind when it ends itself", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { parent } = yield* start(0)
        yield* parent.prints("ended")
        const left = descendants(parent.pid)
        yield* gone(left)
        assert.isTrue(alive(parent.pid))
      })
    )
  )
})
