import { assert, describe, it } from "@effect/vitest"
import { crossOriginOf, isLoopbackHost, isRebindingSafe } from "../../../src/adapters/http/hostAccess.ts"

describe("a loopback host", () => {
  for (const host of ["localhost", "127.0.0.1", "127.0.0.2", "127.255.255.254", "::1", "[::1]", "::ffff:127.0.0.1"]) {
    it(`is ${host}`, () => assert.isTrue(isLoopbackHost(host)))
  }
  for (const host of [
    "",
    "0.0.0.0",
    "::",
    "128.0.0.1",
    "127.example.org",
    "127.0.0.1.example.org",
    "localhost.example.org"
  ]) {
    it(`is not ${host || "the empty string"}`, () => assert.isFalse(isLoopbackHost(host)))
  }
})

describe("a rebinding-safe host name", () => {
  it("is localhost or an IP address", () => {
    assert.isTrue(["localhost", "127.0.0.1", "192.0.2.1", "[2001:db8::1]"].every(isRebindingSafe))
    assert.isFalse(["example.org", "127.0.0.1.example.org", "", undefined].some(isRebindingSafe))
  })
})

describe("the origin of a page", () => {
  const own = { host: "localhost:1", origin: "http://localhost:1" }
  const ownTls = { host: "localhost:1", origin: "https://localhost:1" }

  it("is cross-origin unless the server serves pages under its scheme", () => {
    assert.isUndefined(crossOriginOf(own))
    assert.strictEqual(crossOriginOf(ownTls), ownTls.origin)
    assert.isUndefined(crossOriginOf(ownTls, ["http", "https"]))
    assert.strictEqual(crossOriginOf({ ...own, host: "localhost:2" }), own.origin)
  })

  it("is absent for clients that are no browser", () => assert.isUndefined(crossOriginOf({ host: "localhost:1" })))
})
