import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { PackHost } from "../../../../src/application/packs/PackHost.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { write } from "../packs.ts"
import { packHostWith } from "./host.ts"
import { describePython, pythonPack } from "./python.ts"

const reloads = Number(process.env["A2C_RELOADS"] ?? 12)

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describePython("reload of a Python pack", () => {
  it.live(
    "leaves no process behind",
    () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const started = join(folder, "started")
        const alive = Effect.sync(() => readFileSync(started, "utf8").trim().split("\n").map(Number).filter(isAlive))
        const version = (number: number) =>
          write(join(folder, "packs", "pack"), {
            "__init__.py": "from .pack_tool import PackTool\n",
            "pack_tool.py": pythonPack({
              more: `open(${JSON.stringify(started)}, "a").write(f"{os.getpid()}\\n")`,
              call: `return [TextContent(type='text', text='version ${number}')]`
            })
          })
        yield* version(0)
        yield* Effect.gen(function* () {
          const { rescan, session } = yield* PackHost
          yield* rescan
          for (let number = 1; number <= reloads; number++) {
            yield* version(number)
            yield* rescan
            assert.deepStrictEqual(yield* session.callTool("pack", { text: "a" }), {
              content: [{ type: "text", text: `version ${number}` }]
            })
          }
          // The previous version ends after its calls.
          yield* Effect.repeat(alive, { until: ({ length }) => length === 1, schedule: Schedule.spaced("50 millis") })
        }).pipe(Effect.provide(packHostWith([join(folder, "packs")])))
        assert.deepStrictEqual(yield* alive, [])
        assert.lengthOf(readFileSync(started, "utf8").trim().split("\n"), reloads + 1)
      }).pipe(Effect.scoped),
    900_000
  )
})
