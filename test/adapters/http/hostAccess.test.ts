import { assert, describe, it } from "@effect/vitest"
import {
  addressKind,
  crossOriginOf,
  isLoopbackHost,
  isOriginAllowed,
  isOwnHost,
  listedOriginOf,
  mayName
} from "../../../src/adapters/http/hostAccess.ts"

describe("a loopback host", () => {
  for (const host of [
    "localhost",
    "LocalHost",
    "127.0.0.1",
    "127.0.0.2",
    "127.255.255.254",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "[::ffff:7f00:1]"
  ]) {
    it(`is ${host}`, () => assert.isTrue(isLoopbackHost(host)))
  }
  for (const host of [
    "",
    "0.0.0.0",
    "::",
    "128.0.0.1",
    "127.example.org",
    "127.0.0.1.example.org",
    "localhost.example.org",
    "evil-localhost",
    "evil.localhost"
  ]) {
    it(`is not ${host || "the empty string"}`, () => assert.isFalse(isLoopbackHost(host)))
  }
})

describe("the kind of an address", () => {
  it.each([
    ["127.0.0.1", "loopback"],
    ["64:ff9b::127.0.0.1", "loopback"],
    ["169.254.169.254", "link-local"],
    ["::ffff:169.254.169.254", "link-local"],
    ["fe80::1", "link-local"],
    ["fe80::1%eth0", "link-local"],
    ["10.0.0.1", "private"],
    ["100.64.0.1", "private"],
    ["172.31.255.255", "private"],
    ["192.168.1.1", "private"],
    ["64:ff9b::10.0.0.1", "private"],
    ["[fd00::1]", "private"],
    ["0.0.0.0", "reserved"],
    ["::", "reserved"],
    ["::127.0.0.1", "reserved"],
    ["224.0.0.1", "reserved"],
    ["255.255.255.255", "reserved"],
    ["2002:7f00:1::", "reserved"],
    ["2001:0:7f00:1::", "reserved"],
    ["ff02::1", "reserved"],
    ["8.8.8.8", "public"],
    ["172.32.0.1", "public"],
    ["::ffff:8.8.8.8", "public"],
    ["64:ff9b::8.8.8.8", "public"],
    ["2606:4700:4700::1111", "public"]
  ] as const)("of %s is %s", (address, kind) => assert.strictEqual(addressKind(address), kind))

  it("does not exist for names", () => assert.isUndefined(addressKind("127.0.0.1.example.org")))

  for (const host of ["1[27.0.0.1]", "[127.0.0.]1", "[::1", "::1]"]) {
    it(`does not exist for ${host}, whose brackets do not enclose an address`, () =>
      assert.isUndefined(addressKind(host)))
  }
})

describe("a peer", () => {
  it.each([
    ["public", "public"],
    ["private", "public"],
    ["private", "private"],
    ["benchmark", "benchmark"],
    ["loopback", "loopback"],
    ["loopback", "private"]
  ] as const)("with a %s address may name a %s one", (peer, to) => assert.isTrue(mayName(peer, to)))

  it.each([
    ["public", "private"],
    ["public", "loopback"],
    ["public", "benchmark"],
    ["private", "loopback"],
    ["private", "benchmark"],
    ["benchmark", "private"],
    ["loopback", "benchmark"],
    ["loopback", "link-local"],
    ["link-local", "link-local"],
    ["reserved", "reserved"],
    ["reserved", "private"]
  ] as const)("with a %s address must not name a %s one", (peer, to) => assert.isFalse(mayName(peer, to)))
})

describe("the Host header", () => {
  it("names the server by localhost, an IP address or an allowed name", () => {
    for (const host of ["localhost:1", "127.0.0.1", "192.0.2.1:80", "[2001:db8::1]:80", "BOX.lan:80"]) {
      assert.isTrue(isOwnHost({ host }, ["box.lan"]), host)
    }
    for (const host of ["example.org", "evil-box.lan", "box.lan.example.org", "127.0.0.1.example.org", "", undefined]) {
      assert.isFalse(isOwnHost({ host }, ["box.lan"]), host)
    }
  })
})

describe("the origin of a page", () => {
  const own = { host: "localhost:1", origin: "http://localhost:1" }
  const ownTls = { host: "localhost:1", origin: "https://localhost:1" }
  const allowedOrigins = ["https://app.example.org"]

  it("is cross-origin unless the server serves pages under its scheme", () => {
    assert.isUndefined(crossOriginOf(own))
    assert.strictEqual(crossOriginOf(ownTls), ownTls.origin)
    assert.isUndefined(crossOriginOf(ownTls, ["http", "https"]))
    assert.strictEqual(crossOriginOf({ ...own, host: "localhost:2" }), own.origin)
  })

  it("is absent for clients that are no browser", () => {
    assert.isUndefined(crossOriginOf({ host: "localhost:1" }))
    assert.isTrue(isOriginAllowed({ host: "evil.example" }, { allowedOrigins: [] }))
  })

  it("is allowed when it equals an entry of the list, or the list has a *", () => {
    for (const origin of [
      "https://evil-app.example.org",
      "https://app.example.org.evil.example",
      "https://app.example.org:444",
      "http://app.example.org",
      "null"
    ]) {
      const headers = { ...own, origin }
      assert.isFalse(isOriginAllowed(headers, { allowedOrigins }), origin)
      assert.isUndefined(listedOriginOf(headers, { allowedOrigins }))
      assert.isTrue(isOriginAllowed(headers, { allowedOrigins: ["*"] }), origin)
    }
    assert.isTrue(isOriginAllowed({ ...own, origin: "https://app.example.org" }, { allowedOrigins }))
  })

  it("is allowed for own pages only under a name of the server", () => {
    const rebound = { host: "evil.example", origin: "http://evil.example" }
    assert.isTrue(isOriginAllowed(own, { allowedOrigins }))
    assert.isFalse(isOriginAllowed(rebound, { allowedOrigins }))
    assert.isTrue(isOriginAllowed(rebound, { allowedOrigins, allowedHosts: ["evil.example"] }))
  })
})
