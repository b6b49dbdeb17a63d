import { Socket } from "node:net"
import { afterAll, assert, beforeAll, vi } from "vitest"

/** Rejects all network connections; an attempt fails the test file. */
export const stayOffline = () => {
  let attempts = 0
  beforeAll(() => {
    vi.spyOn(Socket.prototype, "connect").mockImplementation(() => {
      attempts++
      throw new Error("these tests do without network")
    })
  })
  afterAll(() => {
    vi.restoreAllMocks()
    assert.strictEqual(attempts, 0)
  })
}
