import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseMarketplace, parsePluginManifest } from "../../../src/domain/skills/marketplace.ts"

const parse = (value: unknown) => Result.getOrThrow(parseMarketplace(value))

/** The reason why a marketplace with this plugin leaves it out. */
const rejection = (plugin: unknown) => parse({ plugins: [plugin] }).rejected.map(({ reason }) => reason)

describe("marketplace", () => {
  it("has plugins in folders, with the versions and skills that it states", () => {
    const { name, plugins, rejected } = parse({
      name: "tools",
      owner: { name: "unknown members are ignored" },
      plugins: [
        { name: "docs", source: "./plugins/docs", version: "1.2.0", description: "d" },
        { name: "office", source: "./", strict: false, skills: ["./skills/xlsx", "./skills/pdf/"] },
        { name: "one", source: "one", skills: "./only" }
      ]
    })
    assert.strictEqual(name, "tools")
    assert.deepStrictEqual(rejected, [])
    assert.deepStrictEqual(plugins, [
      { name: "docs", folder: "plugins/docs", version: "1.2.0" },
      { name: "office", folder: ".", skillFolders: ["skills/xlsx", "skills/pdf"] },
      { name: "one", folder: "one", skillFolders: ["only"] }
    ])
  })

  it("keeps all plugins below one folder when it says so", () => {
    const [a, b] = [
      { name: "a", source: "a" },
      { name: "b", source: "." }
    ]
    const { plugins } = parse({ metadata: { pluginRoot: "./plugins" }, plugins: [a, b] })
    assert.deepStrictEqual(plugins, [
      { name: "a", folder: "plugins/a" },
      { name: "b", folder: "plugins" }
    ])
  })

  it("rejects plugins that are not in its folder", () => {
    const outside = "its source is outside of the marketplace"
    const elsewhere = "its source is not a folder of the marketplace"
    const sources = ["../a", "/a", "a\\b", "C:/a", "https://x/a.git", { source: "github", repo: "x/y" }, undefined]
    assert.deepStrictEqual(
      sources.flatMap((source) => rejection({ name: "a", source })),
      [outside, outside, outside, outside, "its source is a URL", elsewhere, elsewhere]
    )
  })

  it("rejects plugins with skills outside of their folder", () => {
    const rejectionOf = (...skills: ReadonlyArray<unknown>) => rejection({ name: "a", source: "a", skills })
    assert.deepStrictEqual(rejectionOf("ok", "../b"), ["skills names a path outside of the plugin"])
    assert.deepStrictEqual(rejectionOf(1), ["skills is neither a path nor a list of paths"])
  })

  it("rejects plugins without a name that can be part of a skill's name", () => {
    const entries = [{ source: "a" }, { name: "A", source: "a" }, "text", null]
    for (const entry of entries) assert.match(rejection(entry).join(), /^invalid name: /)
  })

  it("takes the first one of equal names", () => {
    const [first, second] = [
      { name: "a", source: "1" },
      { name: "a", source: "2" }
    ]
    const { plugins, rejected } = parse({ plugins: [first, second] })
    assert.deepStrictEqual(plugins, [{ name: "a", folder: "1" }])
    assert.deepStrictEqual(rejected, [{ plugin: "a", reason: "another plugin has the same name" }])
  })

  it("names rejected plugins, or their place in the list", () => {
    const names = parse({ plugins: [{ name: "A", source: "a" }, 1] }).rejected.map(({ plugin }) => plugin)
    assert.deepStrictEqual(names, ["A", "[1]"])
  })

  it("has at most 1000 plugins", () => {
    const { plugins, rejected } = parse({
      plugins: Array.from({ length: 1002 }, (_, index) => ({ name: `p${index}`, source: "a" }))
    })
    assert.deepStrictEqual([plugins.length, rejected], [1000, [{ plugin: "2 more", reason: "more than 1000 plugins" }]])
  })

  it.each([
    [null, "not an object"],
    [{}, "plugins is not a list"],
    [{ plugins: {} }, "plugins is not a list"],
    [{ plugins: [], metadata: { pluginRoot: ".." } }, "metadata.pluginRoot is outside of the marketplace"]
  ])("is rejected without a list of plugins, and with plugins elsewhere: %j", (value, reason) => {
    assert.deepStrictEqual(parseMarketplace(value), Result.fail(reason))
  })
})

describe("manifest of a plugin", () => {
  it("has its version and its folders of skills", () => {
    assert.deepStrictEqual(
      [{}, { name: "a", version: "2", skills: ["./s"] }, { version: 2, skills: null }].map(parsePluginManifest),
      [Result.succeed({}), Result.succeed({ version: "2", skillFolders: ["s"] }), Result.succeed({})]
    )
  })

  it("is rejected unless it is an object", () => {
    assert.deepStrictEqual(parsePluginManifest([]), Result.fail("not an object"))
  })
})
