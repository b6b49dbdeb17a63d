import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import { deriveBundleId } from "../../../src/domain/config/bundleId.ts"

interface Vector {
  readonly desc: string
  readonly name: string
  readonly config: {
    readonly type: string
    readonly bundle_id?: string
    readonly [parameter: string]: unknown
  }
  readonly expected_bundle_id: string
}

const { vectors } = JSON.parse(
  readFileSync(new URL("../../fixtures/protocol/bundle_id_conformance_vectors.json", import.meta.url), "utf8")
) as { readonly vectors: ReadonlyArray<Vector> }

const configOf = (name: string, { bundle_id, type, ...server_parameters }: Vector["config"]) =>
  parseComputerConfig({
    servers: { server: { name, type, server_parameters, ...(bundle_id !== undefined && { bundle_id }) } }
  })

describe("bundle id", () => {
  it("has the value of every vector of the protocol", () => {
    assert.strictEqual(vectors.length, 16)
    for (const { config, desc, expected_bundle_id, name } of vectors) {
      const { bundle_id, type, ...parameters } = config
      assert.strictEqual(bundle_id ?? deriveBundleId(name, type, parameters), expected_bundle_id, desc)
      // A server of a configuration has a name.
      if (name === "") continue
      const server = Result.getOrThrow(configOf(name, config)).servers["server"]
      assert.strictEqual(server?.bundleId, expected_bundle_id, desc)
    }
  })

  it("is derived from the name for people, not from the key", () => {
    const server = Result.getOrThrow(configOf("My Server!", { type: "stdio", command: "x" })).servers["server"]
    assert.deepInclude(server, { name: "server", displayName: "My Server!", bundleId: "My_Server" })
  })

  it("ignores the order of the environment, and depends on its values", () => {
    const idOf = (env: object) => deriveBundleId("", "stdio", { command: "x", env })
    assert.strictEqual(idOf({ b: "2", a: "1" }), idOf({ a: "1", b: "2" }))
    assert.notStrictEqual(idOf({ a: "1" }), idOf({ a: "2" }))
  })

  it("sorts the environment by code points", () => {
    const idOf = (env: object) => deriveBundleId("", "stdio", { command: "x", env })
    // In UTF-16 units the first key is the smaller one, in UTF-8 bytes the greater one.
    assert.strictEqual(idOf({ "\u{1f600}": "1", "\uffee": "2" }), idOf({ "\uffee": "2", "\u{1f600}": "1" }))
  })

  it("rejects dots and double underscores in a given id", () => {
    for (const bundle_id of ["a.b", "a__b", ""]) {
      const parsed = configOf("server", { type: "stdio", command: "x", bundle_id })
      assert.include(Result.getOrThrow(Result.flip(parsed)), "servers.server.bundle_id", bundle_id)
    }
  })
})
