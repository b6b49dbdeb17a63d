import { assert, describe, it } from "@effect/vitest"
import { fromNodeOperator, toNodeOperator } from "../../../../../src/application/server/watch/nodes/NodeRequest.ts"
import { olga } from "../watchedServer.ts"

describe("an operator at another node", () => {
  it("has the identity that its node has authenticated, with its end", () => {
    const operator = { ...olga, identity: { ...olga.identity, isShared: true, expiresAt: 1000 } }
    assert.deepStrictEqual(fromNodeOperator(toNodeOperator(operator)), operator)
  })
})
