import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { build } from "esbuild"
import { packageVersion } from "../src/domain/packageVersion.ts"

const filesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name))

/** What the files of a layer import. */
const importsOf = (layer: string): ReadonlyArray<string> =>
  filesIn(join("src", layer)).flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"([^"]+)"/g)].map(([, name = ""]) => name)
  )

describe("layers", () => {
  it("the domain imports effect and itself", () => {
    for (const name of importsOf("domain")) assert.match(name, /^(effect$|\.)/)
    for (const name of importsOf("domain")) assert.notMatch(name, /(^|\/)(application|adapters|main)\//)
  })

  it("the application imports effect, the domain and itself", () => {
    for (const name of importsOf("application")) {
      assert.match(name, /^(effect(\/encoding)?$|\.)/)
      assert.notMatch(name, /(^|\/)(adapters|main)\//)
    }
  })

  it("adapters know nothing of main", () => {
    for (const name of importsOf("adapters")) assert.notMatch(name, /(^|\/)main\//)
  })

  it("the domain bundles for a browser, without anything of Node", async () => {
    const { metafile, outputFiles } = await build({
      entryPoints: ["src/main/entrypoints/domain.ts"],
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      metafile: true
    })
    const inputs = Object.keys(metafile.inputs)
    assert.isTrue(
      inputs.every((path) =>
        /^(src\/domain\/|src\/main\/entrypoints\/domain\.ts$|node_modules\/effect\/)/.test(path)
      )
    )
    assert.notMatch(outputFiles[0]?.text ?? "", /require\(|from "node:/)
  })

  it("the Agent bundles for a browser, without anything of Node", async () => {
    const { metafile, outputFiles } = await build({
      entryPoints: ["src/main/entrypoints/agent.ts"],
      bundle: true,
      platform: "browser",
      format: "esm",
      write: false,
      metafile: true
    })
    const inputs = Object.keys(metafile.inputs).join("\n")
    assert.notMatch(
      inputs,
      /platform-node|modelcontextprotocol|adapters\/(mcp|terminal|process|packs|tcp|redis)\/|main\/layers\/(?!webAgentLayer)/
    )
    assert.notMatch(outputFiles[0]?.text ?? "", /require\(|from "node:/)
  })

  it("the domain runs where there is no Node", async () => {
    const { outputFiles } = await build({
      stdin: {
        contents: `import { parseWindowUri } from "./src/main/entrypoints/domain.ts"
          globalThis.result = parseWindowUri("window://h?priority=7").success.priority`,
        resolveDir: process.cwd()
      },
      bundle: true,
      platform: "browser",
      format: "iife",
      write: false
    })
    const { runInNewContext } = await import("node:vm")
    const world: { result?: number } = {}
    runInNewContext(outputFiles[0]?.text ?? "", Object.assign(world, { globalThis: world }))
    assert.strictEqual(world.result, 7)
  })

  it("the version in the code is the version of the package", () => {
    const { version: packaged } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string }
    assert.strictEqual(packageVersion, packaged)
  })
})
