import { assert, describe, it } from "@effect/vitest"
import { findHostConflicts } from "../../../src/domain/documents/DpeUri.ts"

describe("findHostConflicts", () => {
  it("finds hosts of documents and windows, independent of case", () => {
    const servers = [
      { name: "one", uris: ["dpe://Docs/a", "dpe://docs/b", "window://app", "file:///x", "dpe://own/a"] },
      { name: "two", uris: ["dpe://docs/c", "window://app/tab?priority=1", "dpe://other/a"] },
      { name: "three", uris: ["window://docs", "junk"] }
    ]
    assert.deepStrictEqual(findHostConflicts(servers), [
      { host: "docs", servers: ["one", "two", "three"] },
      { host: "app", servers: ["one", "two"] }
    ])
  })

  it("finds no conflict between different hosts", () => {
    assert.deepStrictEqual(findHostConflicts([{ name: "one", uris: ["dpe://a/x", "window://a"] }]), [])
  })
})
