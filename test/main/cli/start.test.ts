import { readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { assert, describe, it } from "@effect/vitest"

/** What a source file loads at once: imports without those of types, and without those that a command makes when it runs. */
const importedBy = (file: string): ReadonlyArray<string> =>
  [
    ...readFileSync(join("src", file), "utf8").matchAll(
      /^(?:import|export)\s+(?!type\b)(?:[^"]*?\sfrom\s+)?"([^"]+)"/gm
    )
  ]
    .map(([, target = ""]) => target)
    .map((target) => (target.startsWith(".") ? posix.join(posix.dirname(file), target) : target))

/** All files and packages that an entry loads at once. */
const loadedBy = (entry: string): ReadonlySet<string> => {
  const loaded = new Set([entry])
  for (const file of loaded) if (file.endsWith(".ts")) for (const target of importedBy(file)) loaded.add(target)
  return loaded
}

describe("the start of a2c", () => {
  it("loads no package before Node keeps compiled code", () => {
    const packages = [...loadedBy("main/cli/a2c.ts")].filter((name) => !/\.ts$|^node:/.test(name))
    assert.deepStrictEqual(packages, [])
  })

  it("loads no part of a Server for a command of an Agent", () => {
    const loaded = [...loadedBy("main/cli/agent/actions.ts")]
    assert.include(loaded, "adapters/socketio/client/SocketIoClient.ts")
    assert.deepStrictEqual(
      loaded.filter((name) => /^adapters\/socketio\/(?!client|\w+\.ts)|^(engine\.io|ws)$/.test(name)),
      []
    )
  })
})
