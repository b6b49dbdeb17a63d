import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import {
  type AccessPolicy,
  checkAccess,
  checkTokenOption,
  corsHeaders
} from "../../../src/adapters/auth/AccessPolicy.ts"

const policy = (more: Partial<AccessPolicy> = {}): AccessPolicy => ({
  token: Redacted.make("right"),
  allowedHosts: [],
  allowedOrigins: ["https://page.example"],
  schemes: ["http"],
  ...more
})

const host = "127.0.0.1:1"
const statusOf = (given: AccessPolicy, headers: Readonly<Record<string, string>>) =>
  checkAccess(given, { host, ...headers })?.status

describe("access with a bearer token", () => {
  it.each([
    ["Bearer right", undefined],
    ["bearer  right ", undefined],
    ["Bearer wrong", 401],
    ["Bearer righ", 401],
    ["Bearer right2", 401],
    ["Bearer right right", 401],
    ["xBearer right", 401],
    ["Bearer ", 401],
    ["right", 401],
    ["", 401]
  ])("with %j has status %s", (authorization, status) => {
    assert.strictEqual(statusOf(policy(), { authorization }), status)
  })

  it("requires the token", () => {
    assert.strictEqual(statusOf(policy(), {}), 401)
  })

  it("requires none when every client is admitted", () => {
    assert.isUndefined(statusOf(policy({ token: "allowAll" }), {}))
  })

  it("never matches an empty token", () => {
    const empty = policy({ token: Redacted.make(""), tokenHeader: "x-api-key" })
    assert.strictEqual(statusOf(empty, {}), 401)
    assert.strictEqual(statusOf(empty, { authorization: "Bearer ", "x-api-key": "" }), 401)
  })
})

describe("access with a second header", () => {
  const withHeader = policy({ tokenHeader: "x-api-key" })

  it("accepts the token in either header, also beside a wrong one", () => {
    assert.isUndefined(statusOf(withHeader, { "x-api-key": "right" }))
    assert.isUndefined(statusOf(withHeader, { authorization: "Bearer right" }))
    assert.isUndefined(statusOf(withHeader, { authorization: "Bearer wrong", "x-api-key": "right" }))
    assert.isUndefined(statusOf(withHeader, { authorization: "Bearer right", "x-api-key": "wrong" }))
    assert.strictEqual(statusOf(withHeader, { authorization: "Bearer wrong", "x-api-key": "wrong" }), 401)
  })

  it("ignores the header where it is not configured", () => {
    assert.strictEqual(statusOf(policy(), { "x-api-key": "right" }), 401)
  })
})

describe("access of pages", () => {
  it("rejects foreign hosts and origins before the token is checked", () => {
    const authorization = "Bearer right"
    assert.strictEqual(checkAccess(policy(), { host: "evil.example", authorization })?.status, 403)
    assert.strictEqual(statusOf(policy(), { origin: "https://evil.example", authorization }), 403)
    assert.isUndefined(statusOf(policy(), { origin: "https://page.example", authorization }))
  })

  it("lets pages of listed origins read responses, with the headers that clients send", () => {
    const headers = { host, origin: "https://page.example" }
    const plain = corsHeaders(policy(), headers)
    assert.deepInclude(plain, {
      "Access-Control-Allow-Origin": "https://page.example",
      "Access-Control-Allow-Methods": "GET, POST, DELETE",
      "Access-Control-Expose-Headers": "Mcp-Session-Id",
      Vary: "Origin"
    })
    const allowedIn = (given: AccessPolicy) =>
      corsHeaders(given, headers)["Access-Control-Allow-Headers"]?.split(", ") ?? []
    assert.includeMembers(allowedIn(policy()), ["Authorization", "Mcp-Session-Id"])
    assert.notInclude(allowedIn(policy()), "x-api-key")
    assert.include(allowedIn(policy({ tokenHeader: "x-api-key" })), "x-api-key")
    assert.deepStrictEqual(corsHeaders(policy(), { host }), {})
  })
})

describe("configured token", () => {
  it("is a redacted text, or the word that admits every client", () => {
    assert.isUndefined(checkTokenOption("token", Redacted.make("x")))
    assert.isUndefined(checkTokenOption("token", "allowAll"))
    assert.isString(checkTokenOption("token", Redacted.make("")))
    for (const wrong of [undefined, "plain"]) {
      // A program in JavaScript may pass anything.
      assert.include(checkTokenOption("token", wrong as AccessPolicy["token"]), "Redacted")
    }
  })
})
