import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import * as FileApprovalStore from "../../../src/adapters/approvals/FileApprovalStore.ts"
import * as MemoryApprovalStore from "./MemoryApprovalStore.ts"
import { ApprovalStore } from "../../../src/application/ports/approvals/ApprovalStore.ts"
import { noApprovals, type StoredApprovals } from "../../../src/domain/approvals/standingApprovals.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const file = Effect.map(temporaryFolder, (path) => join(path, "state", "approvals.json"))

const approvals: StoredApprovals = {
  grants: [
    { id: "1", office: "lab", server: "notes", tool: "write", toolDigest: "d", until: 5, by: "ann", at: 1 },
    { id: "2", server: "notes", tool: "write", toolDigest: "d", by: "terminal", at: 2 }
  ],
  pins: [
    {
      server: "notes",
      tool: "write",
      digest: "d",
      definition: { name: "write", description: "ü", schema: "{}", annotations: "{}", server: "notes" },
      at: 1,
      by: "ann"
    }
  ]
}

const server = "http://office.example"

const store = ApprovalStore.use((service) => Effect.succeed(service))

const contract = (name: string, layer: Effect.Effect<Layer.Layer<ApprovalStore>, never, never>) =>
  describe(name, () => {
    it.effect("gives what was saved last, by Computer", () =>
      Effect.gen(function* () {
        const { load, save } = yield* store
        assert.deepStrictEqual(yield* load("desk"), noApprovals)
        yield* save("desk", approvals)
        yield* save("lab", { ...approvals, pins: [] })
        assert.deepStrictEqual(yield* load("desk"), approvals)
        assert.deepStrictEqual(yield* load("lab"), { ...approvals, pins: [] })
        yield* save("desk", noApprovals)
        assert.deepStrictEqual(yield* load("desk"), noApprovals)
        assert.deepStrictEqual(yield* load("__proto__"), noApprovals)
      }).pipe(Effect.provide(Effect.runSync(layer)))
    )
  })

contract("approvals in memory", Effect.succeed(MemoryApprovalStore.layer))

describe("file of approvals", () => {
  const effect = (title: string, body: (path: string) => Effect.fn.Return<void, unknown, ApprovalStore>) =>
    it.effect(title, () =>
      Effect.flatMap(file, (path) =>
        Effect.provide(Effect.fnUntraced(body)(path), FileApprovalStore.layer(path, server))
      )
    )

  effect("is for its owner only", function* (path) {
    const { load, save } = yield* store
    assert.deepStrictEqual(yield* load("desk"), noApprovals)
    yield* save("desk", approvals)
    yield* save("lab", noApprovals)
    assert.strictEqual(statSync(path).mode & 0o777, 0o600)
    assert.deepStrictEqual(yield* load("desk"), approvals)
  })

  effect("keeps the approvals of one Server apart from those of another", function* (path) {
    const { save } = yield* store
    yield* save("desk", approvals)
    const loadAt = (url: string) =>
      Effect.provide(
        ApprovalStore.use(({ load }) => load("desk")),
        FileApprovalStore.layer(path, url)
      )
    assert.deepStrictEqual(yield* loadAt("ws://Office.example/"), approvals)
    for (const other of ["https://office.example", "http://office.example:81", "http://office.example/a"]) {
      assert.deepStrictEqual(yield* loadAt(other), noApprovals)
    }
  })

  const rejects = (title: string, contents: string, reason: string, mode = 0o600) =>
    effect(`is neither used nor overwritten ${title}`, function* (path) {
      const { load, save } = yield* store
      yield* save("desk", approvals)
      writeFileSync(path, contents)
      chmodSync(path, mode)
      assert.include((yield* Effect.flip(load("desk"))).message, reason)
      if (reason.includes("Expected")) return
      assert.include((yield* Effect.flip(save("desk", approvals))).message, reason)
      assert.strictEqual(readFileSync(path, "utf8"), contents)
    })
  rejects("when it is not JSON", "{", "it is not JSON")
  rejects("when it is a list", "[]", "it is not a file of approvals")
  rejects("when it has another version", '{"version":2,"computers":{}}', "its version is not 1")
  rejects("when it has no Computers", '{"version":1}', '"computers" must be an object')
  rejects(
    "when the approvals are malformed",
    '{"version":1,"computers":{"desk at http://office.example":{"grants":1,"pins":[]}}}',
    "Expected"
  )
  rejects("when others have access to it", '{"version":1,"computers":{}}', "others have access", 0o644)
})
