import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { demoServers } from "../../src/main/demo/demoServers.ts"

const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly devDependencies: { readonly [name: string]: string }
}

describe("the MCP servers of the demo", () => {
  it("have the versions that the tests of the demo use", () => {
    for (const [name, version] of Object.entries(demoServers)) assert.strictEqual(version, devDependencies[name])
  })
})
