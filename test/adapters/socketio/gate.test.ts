import { IncomingMessage } from "node:http"
import { Socket } from "node:net"
import { Duplex } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { closeReasonCode } from "../../../src/adapters/socketio/closeReasons.ts"
import {
  checkRequest,
  isSocketIoRequest,
  rejectUpgrade,
  type GateRejection
} from "../../../src/adapters/socketio/gate.ts"

interface RequestParts {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
}

const requestOf = (url: string | undefined, { headers = {}, method = "GET" }: RequestParts = {}): IncomingMessage => {
  const request = new IncomingMessage(new Socket())
  Object.assign(request, { method, ...(url !== undefined && { url }) })
  Object.assign(request.headers, { host: "127.0.0.1:1", ...headers })
  return request
}

const served = [{ major: 0, minor: 2, patch: 0 }] as const
const open = "/smcp?a2c_version=0.2.0"

const check = (url: string | undefined, parts?: RequestParts, origins: ReadonlyArray<string> = []) =>
  checkRequest(requestOf(url, parts), served, origins)

describe("paths of Socket.IO", () => {
  it.each([
    ["/smcp", true],
    ["/smcp/", true],
    ["/smcp?EIO=4", true],
    ["/smcp/x", false],
    ["/smcpx", false],
    ["/socket.io/?EIO=4", true],
    ["/socket", false],
    ["/", false],
    ["//", false],
    ["", false]
  ])("recognizes %j: %s", (url, expected) => {
    assert.strictEqual(isSocketIoRequest(["/smcp", "/socket.io"], requestOf(url)), expected)
  })
})

describe("check of a request", () => {
  it("passes a supported version", () => {
    assert.isUndefined(check(open))
  })

  it.each(["/smcp", "/smcp?sid=", "/smcp?sid=x&sid=", "//"])("requires a version in %j", (url) => {
    assert.strictEqual(check(url)?.body.code, 400)
  })

  it("requires none of an open session", () => {
    assert.isUndefined(check("/smcp?sid=&sid=x"))
  })

  it("requires none of a preflight request", () => {
    assert.isUndefined(check("/smcp", { method: "OPTIONS" }))
  })

  it("lets pages of listed origins read a rejection, also from caches", () => {
    const headers = { origin: "https://page.example" }
    const rejection = check("/smcp", { headers }, ["https://page.example"])
    assert.deepInclude(rejection?.headers, { "Access-Control-Allow-Origin": "https://page.example", Vary: "Origin" })
    assert.notProperty(check("/smcp")?.headers, "Vary")
  })

  it("accepts pages over http and https at the Server's own address only", () => {
    for (const scheme of ["http", "https"]) {
      assert.isUndefined(check(open, { headers: { origin: `${scheme}://127.0.0.1:1` } }))
    }
    for (const origin of ["ftp://127.0.0.1:1", "https://other.example", "null"]) {
      assert.deepInclude(check(open, { headers: { origin } }), { status: 403, headers: {} })
    }
  })
})

describe("rejected upgrade", () => {
  /** A socket with what was written to it. */
  const socketOf = () => {
    const written: Array<string> = []
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk, _, done) => {
        written.push(String(chunk))
        done()
      }
    })
    return { socket, written }
  }

  const rejection = (status: number): GateRejection => ({
    status,
    headers: { "X-A": "b" },
    body: { code: 4008, message: "é" }
  })

  it.each([
    [400, "Bad Request"],
    [799, "Error"]
  ])("gets a complete response with status %i", (status, phrase) => {
    const { socket, written } = socketOf()
    rejectUpgrade(socket, rejection(status))
    assert.strictEqual(
      written.join(""),
      [
        `HTTP/1.1 ${status} ${phrase}`,
        "X-A: b",
        "Content-Type: application/json",
        "Content-Length: 28",
        "Connection: close",
        "",
        '{"code":4008,"message":"é"}'
      ].join("\r\n")
    )
  })

  it("ends its socket even when the peer keeps its half open", async () => {
    const { socket } = socketOf()
    rejectUpgrade(socket, rejection(400))
    await new Promise((resolve) => socket.once("close", resolve))
    assert.isTrue(socket.destroyed)
  })

  it("ends its socket when the peer is gone", async () => {
    const socket = new Duplex({
      autoDestroy: false,
      read: () => undefined,
      write: (_, __, done) => done(new Error("gone"))
    })
    rejectUpgrade(socket, rejection(400))
    await new Promise((resolve) => socket.once("close", resolve))
    assert.isTrue(socket.destroyed)
  })
})

describe("close reason", () => {
  it("is a code for the known reasons of the libraries", () => {
    assert.strictEqual(closeReasonCode("ping timeout"), "keepalive_timeout")
    assert.strictEqual(closeReasonCode("something new"), "something new")
  })
})
