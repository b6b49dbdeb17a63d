import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { compactBytes, RawBody } from "../../../src/adapters/bytes/RawBody.ts"
import { fitsBytes, sendError } from "../../../src/adapters/bytes/sendError.ts"
import { type Body, invalidBody, jsonBody } from "../../../src/application/ports/Body.ts"
import { badRequest } from "../../../src/domain/model/ProtocolError.ts"

/** A body of JSON text as the relay receives it: the last bracket of its packet follows. */
const rawBody = (json: string): RawBody => RawBody.unparsed(Buffer.from(`${json}]`))

/** The value of a body, or the code of its error. */
const valueOf = (body: Body): unknown => Result.merge(Result.mapError(body.value(), ({ code }) => `error ${code}`))

describe("body of received bytes", () => {
  it("has the value, the text and the length in bytes of what was received", () => {
    const json = '{"a": ["ü", 1e2]}'
    const body = rawBody(json)
    assert.deepStrictEqual(valueOf(body), { a: ["ü", 100] })
    assert.deepStrictEqual(body.text(), Result.succeed(json))
    assert.strictEqual(body.byteLength(), 18)
  })

  it("parses its head on the first access only", () => {
    const body = rawBody('{"a":1}')
    assert.isFalse(body.isHeadParsed)
    const { head } = body
    assert.deepStrictEqual(head, Result.succeed({ a: 1 }))
    assert.isTrue(body.isHeadParsed)
    assert.strictEqual(body.head, head)
    assert.strictEqual(body.value(), head)
  })

  it.each([
    ['{"a":1}', true],
    ["{}", true],
    ["[{}]", false],
    ['"{}"', false],
    ["null", false],
    ["{", false],
    ["}", false]
  ])("tells without a parse whether %s is an object", (json, isObject) => {
    const body = rawBody(json)
    assert.strictEqual(body.isObject, isObject)
    assert.isFalse(body.isHeadParsed)
  })
})

describe("text that is no JSON", () => {
  it("is the fault of the client that sent it", () => {
    assert.strictEqual(valueOf(rawBody("{")), "error 400")
  })

  it("is the fault of a client that nests it too deeply", () => {
    assert.strictEqual(valueOf(rawBody(`${"[".repeat(200)}${"]".repeat(200)}`)), "error 400")
  })
})

describe("body with a known value", () => {
  it("is an object when its value is one", () => {
    const isObject = (value: unknown) => RawBody.parsed(Buffer.from(`${JSON.stringify(value)}]`), value).isObject
    assert.deepStrictEqual([isObject({}), isObject([])], [true, false])
  })

  it("is not parsed again", () => {
    const value = { a: 1 }
    const body = RawBody.parsed(Buffer.from('{"a":1}]'), value)
    assert.isTrue(body.isHeadParsed)
    assert.strictEqual(Result.getOrThrow(body.head), value)
    assert.strictEqual(Result.getOrThrow(body.value()), value)
  })

  it("keeps a scanned head and parses the rest when it is read", () => {
    const head = { a: {} }
    const body = RawBody.scanned(Buffer.from('{"a":{"b":1}}]'), head)
    assert.isTrue(body.isHeadParsed && body.isObject)
    assert.strictEqual(Result.getOrThrow(body.head), head)
    assert.deepStrictEqual(valueOf(body), { a: { b: 1 } })
  })
})

describe("body that is kept", () => {
  const inPool = (poolBytes: number, bytes: number): Buffer => Buffer.from(new ArrayBuffer(poolBytes), 8, bytes)

  it("retains up to the given multiple of its size", () => {
    const bytes = inPool(800, 100)
    assert.strictEqual(compactBytes(bytes, 8), bytes)
  })

  it("is copied when it would retain more", () => {
    const bytes = inPool(808, 100).fill("x")
    const copy = compactBytes(bytes, 8)
    assert.deepStrictEqual(copy, bytes)
    assert.strictEqual(copy.buffer.byteLength, 100)
  })

  it("stays the same when it is compacted", () => {
    const tail = inPool(1000, 8)
    tail.write('{"a":1}]')
    const body = RawBody.unparsed(tail)
    body.compact()
    assert.strictEqual(body.tail.buffer.byteLength, 8)
    assert.strictEqual(String(body.tail), '{"a":1}]')
    assert.strictEqual(String(body.json), '{"a":1}')
    assert.deepStrictEqual(valueOf(body), { a: 1 })
  })
})

describe("size of a body to send", () => {
  /** A JSON text of this many bytes with quotes. */
  const bodyOf = (bytes: number, char = "x") => jsonBody(char.repeat((bytes - 2) / Buffer.byteLength(char)))

  it.each([
    [10, "x", 10, true],
    [10, "x", 9, false],
    [11, "€", 11, true],
    [11, "€", 10, false],
    [32, "€", 31, false],
    [32, "€", 32, true]
  ])("of %i bytes of %s within %i is %s", (bytes, char, max, fits) => {
    assert.strictEqual(fitsBytes(bodyOf(bytes, char), max), fits)
  })

  it("is no problem of a body without a text", () => {
    assert.isTrue(fitsBytes(invalidBody(badRequest("no")), 1))
  })
})

describe("reason that a link cannot send a body", () => {
  it("does not exist for a body within the limit", () => {
    assert.isUndefined(sendError(jsonBody("x"), 3, undefined))
  })

  it("is that the link is closed, before anything else", () => {
    const error = sendError(invalidBody(badRequest("no")), 3, "gone")
    assert.deepInclude(error, { _tag: "LinkClosed", reason: "gone" })
  })

  it("is the error of a body that has no text", () => {
    const error = sendError(invalidBody(badRequest("no")), 3, undefined)
    assert.nestedPropertyVal(error, "error.code", 400)
  })

  it("is that the body is too large", () => {
    const error = sendError(jsonBody("xx"), 3, undefined)
    assert.nestedPropertyVal(error, "error.code", 413)
  })
})
