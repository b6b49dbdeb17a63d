import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { decodePackConfig } from "../../../src/domain/packs/packConfig.ts"

const nothing = { enabled: true, description: "", usage: "", packages: [] }
const read = (given: unknown) => Result.getOrThrow(decodePackConfig(given))

describe("pack configuration", () => {
  it.each([undefined, null, {}, { enabled: null, description: null, packages: null, timeout: null }])(
    "accepts %j as empty",
    (given) => {
      assert.deepStrictEqual(read(given), { config: nothing, warnings: [] })
    }
  )

  it("decodes every key", () => {
    const config = {
      enabled: false,
      description: "网页",
      usage: "url",
      packages: ["a==1.0.0"],
      timeout: 1.5,
      isolation: "worker" as const,
      memory: 128,
      concurrency: 4
    }
    assert.deepStrictEqual(read(config), { config, warnings: [] })
  })

  it("warns about unknown keys", () => {
    assert.deepStrictEqual(read({ packges: ["a"] }), {
      config: nothing,
      warnings: ["config.yaml: unknown key 'packges' is ignored by the host"]
    })
  })

  it.each([
    [{ enabled: "no" }, /^enabled: /],
    [{ description: 3 }, /^description: /],
    [{ usage: [] }, /^usage: /],
    [{ packages: "a" }, /^packages: /],
    [{ packages: ["a", 1] }, /^packages\[1\]: /],
    [{ timeout: 0 }, /^timeout: /],
    [{ timeout: Number.NaN }, /^timeout: /],
    [{ timeout: 1e9 }, /^timeout: /],
    [{ isolation: "none" }, /^isolation: /],
    [{ memory: 1.5 }, /^memory: /],
    [{ memory: 1 }, /^memory: /],
    [{ concurrency: 0 }, /^concurrency: /],
    [{ enabled: 1, usage: 1 }, /^enabled: .*; usage: /],
    [[], /must be a mapping/],
    ["enabled", /must be a mapping/]
  ])("says where %j is invalid", (given, words) => {
    assert.match(Result.getOrThrow(Result.flip(decodePackConfig(given))), words)
  })

  it.prop("decodes or rejects any input", [Schema.Json], ([given]) => {
    assert.doesNotThrow(() => decodePackConfig(given))
  })
})
