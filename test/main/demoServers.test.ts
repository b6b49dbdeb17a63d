import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { demoServers } from "../../src/main/demo/demoConfigs.ts"

const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly devDependencies: { readonly [name: string]: string }
}

describe("the demo", () => {
  it("installs the MCP servers with which it is tested", () => {
    for (const [name, version] of Object.entries(demoServers)) assert.strictEqual(version, devDependencies[name])
  })
})
