import { assert, describe, it } from "@effect/vitest"
import { registryUnavailable } from "../../../src/domain/model/Membership.ts"
import {
  badRequest,
  capabilityNotSupported,
  isRetryableMessage,
  mcpServerNotFound,
  type ProtocolError,
  shuttingDown,
  tooManyRequests
} from "../../../src/domain/model/ProtocolError.ts"

const membersOf = ({ code, extra }: ProtocolError): object => ({ code, ...extra })

describe("ProtocolError", () => {
  it("has the members of its code", () => {
    assert.deepStrictEqual(membersOf(mcpServerNotFound("s")), { code: 4014, mcp_server: "s" })
    assert.deepStrictEqual(membersOf(capabilityNotSupported("s", "resources")), {
      code: 4015,
      mcp_server: "s",
      capability: "resources"
    })
    assert.notProperty(badRequest("x"), "extra")
  })

  it("states the exceeded limit, and in seconds when a retry may succeed", () => {
    assert.deepStrictEqual(membersOf(tooManyRequests("x", "calls", 5)), { code: 429, limit: "calls", max: 5 })
    assert.deepStrictEqual(membersOf(tooManyRequests("x", "calls", 5, 1500.2)), {
      code: 429,
      limit: "calls",
      max: 5,
      retry_after: 1.501
    })
  })

  it("marks temporary failures as retryable", () => {
    assert.isTrue(isRetryableMessage(shuttingDown().message))
    assert.isTrue(isRetryableMessage(registryUnavailable().message))
    assert.isFalse(isRetryableMessage(badRequest("x").message))
    assert.strictEqual(registryUnavailable().reason, "unavailable")
  })
})
