import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type InboundPacket, parsePacket } from "../../../../src/adapters/socketio/relay/parsePacket.ts"
import { scanJsonObject } from "../../../../src/adapters/bytes/jsonScanner.ts"
import { isJsonObject, type JsonObject, parseJson } from "../../../../src/domain/json.ts"

const inFull = { maxMessageBytes: 1_000_000, validateBytes: Number.POSITIVE_INFINITY }
/** Limits that make every body too large to parse in full. */
const scanned = { ...inFull, validateBytes: 0 }
const limits = [inFull, scanned]

const bytes = (text: string): Buffer => Buffer.from(text)
const event = (packet: InboundPacket | undefined) => {
  if (packet?.type !== "event") throw new Error(`no event: ${JSON.stringify(packet)}`)
  return packet
}
const ackOf = (packet: InboundPacket | undefined) => {
  if (packet?.type !== "ack") throw new Error(`no answer: ${JSON.stringify(packet)}`)
  return packet
}
const codeOf = (result: Result.Result<unknown, { readonly code: number }> | undefined) =>
  result === undefined ? undefined : Result.match(result, { onFailure: ({ code }) => code, onSuccess: () => 0 })

/** The head of a value: scalars, and stand-ins for the rest. */
const headOf = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      Array.isArray(member) ? [] : isJsonObject(member) ? {} : member
    ])
  )

const JsonMembers = Schema.Record(Schema.String, Schema.Json)

describe("the scanner of outermost members", () => {
  it.prop("agrees with JSON.parse at any indentation", [JsonMembers, Schema.Literals([0, 1, 4])], ([value, indent]) => {
    const text = JSON.stringify(value, null, indent)
    const found = scanJsonObject(bytes(`${text} ]`), 0)
    if (Object.hasOwn(value, "__proto__")) return assert.isUndefined(found)
    assert.deepStrictEqual(found, { head: headOf(parseJson(text) as JsonObject), end: bytes(text).length })
  })

  it.prop("rejects truncated text without throwing", [JsonMembers, Schema.Int], ([value, cut]) => {
    const whole = bytes(JSON.stringify(value))
    assert.isUndefined(scanJsonObject(whole.subarray(0, Math.abs(cut) % whole.length), 0))
  })

  it("uses the last of equal names, as JSON.parse does", () => {
    assert.deepStrictEqual(scanJsonObject(bytes('{"a":1,"a":"2"}'), 0)?.head, { a: "2" })
  })

  it.each(["[1]", "1", '{"a"}', '{"a":1,}', '{"a":[}]}', '{"a":{"b":1]}', "{a:1}", '{"a":tru}', '{"a" 1}'])(
    "rejects %s",
    (text) => {
      assert.isUndefined(scanJsonObject(bytes(text), 0))
    }
  )

  it("rejects hostile depth and __proto__", () => {
    assert.isUndefined(scanJsonObject(bytes(`{"a":${"[".repeat(200)}${"]".repeat(200)}}`), 0))
    assert.isUndefined(scanJsonObject(bytes('{"__proto__":{}}'), 0))
  })
})

describe("a packet", () => {
  it.prop("keeps its body as received bytes", [JsonMembers], ([value]) => {
    const text = JSON.stringify(value)
    for (const limit of limits) {
      const { body } = event(parsePacket(bytes(`2/smcp,7["client:x", ${text} ]`), limit))
      const [said] = ackOf(parsePacket(bytes(`3/smcp,7[${text}]`), limit)).values
      if (Result.isFailure(body.value())) continue
      assert.strictEqual(Result.getOrThrow(body.text()).trim(), text)
      assert.deepStrictEqual(Result.getOrThrow(body.value()), parseJson(text))
      assert.strictEqual(said === undefined ? "" : Result.getOrThrow(said.text()), text)
    }
  })

  it("has an id and an event name", () => {
    const { event: name, id } = event(parsePacket(bytes('2/smcp,12["client:\\u0078",{}]'), scanned))
    assert.deepStrictEqual([name, id], ["client:x", 12])
    assert.isUndefined(event(parsePacket(bytes('2/smcp,["server:x",{}]'), inFull)).id)
  })

  it("has an undefined body when it holds none", () => {
    for (const limit of limits) {
      const { body } = event(parsePacket(bytes('2/smcp,1["client:x"]'), limit))
      assert.isUndefined(Result.getOrThrow(body.head))
    }
  })

  it("keeps only the first of several arguments", () => {
    for (const limit of limits) {
      const { body } = event(parsePacket(bytes('2/smcp,1["client:x",{"a":1},{"b":2}]'), limit))
      assert.deepStrictEqual(Result.getOrThrow(body.text()), '{"a":1}')
    }
  })

  it("has an invalid body when its body is not usable", () => {
    for (const limit of limits) {
      const proto = event(parsePacket(bytes('2/smcp,1["client:x",{"__proto__":{"a":1}}]'), limit))
      assert.strictEqual(codeOf(proto.body.head), 400)
      const deep = `${"[".repeat(200)}${"]".repeat(200)}`
      const nested = event(parsePacket(bytes(`2/smcp,1["client:x",{"a":${deep}}]`), limit))
      assert.strictEqual(codeOf(nested.body.head), 400)
    }
    const small = { maxMessageBytes: 10, validateBytes: 5 }
    const large = event(parsePacket(bytes('2/smcp,1["client:x",{"a":"12345678901"}]'), small))
    assert.strictEqual(codeOf(large.body.head), 413)
  })

  it("counts its binary attachments and has an invalid body with them", () => {
    const read = event(parsePacket(bytes('52-/smcp,1["client:x",{"_placeholder":true,"num":0}]'), inFull))
    assert.strictEqual(read.attachments, 2)
    assert.strictEqual(codeOf(read.body.head), 400)
    const said = ackOf(parsePacket(bytes('61-/smcp,1[{"_placeholder":true,"num":0}]'), inFull))
    assert.strictEqual(codeOf(said.values[0]?.head), 400)
    assert.isUndefined(parsePacket(bytes('517-/smcp,1["client:x"]'), inFull))
  })

  it("is invalid when it would split into two packets over polling", () => {
    for (const limit of limits) {
      assert.isUndefined(parsePacket(bytes('2/smcp,1["client:x",{"a":"\u001e4\u001e"}]'), limit))
      assert.isUndefined(parsePacket(bytes('3/smcp,1[{"a":"\u001e42/smcp,[]"}]'), limit))
      assert.isUndefined(parsePacket(bytes('3/smcp,1[{"a":1}\u001e{"b":1}]'), limit))
    }
  })

  it.each([
    "",
    "x",
    "2",
    "2/smcp",
    "2/smcp,",
    "2/smcp,1",
    "2/smcp,1[",
    "2/smcp,1[]",
    "2/smcp,1[1]",
    '2/smcp,1["a"',
    '2/smcp,1["a",{]',
    '2/smcp,1["a" {}]',
    '2/smcp,1["a",{}]x',
    "3/smcp,[{}]",
    "3/smcp,1{}",
    "3/smcp,1[{]",
    "4/smcp,{}",
    "5/smcp,1[]",
    "5-/smcp,",
    "0/smcp,{",
    "7/smcp,",
    '2/smcp,1234567890123456789["a"]'
  ])("is invalid as %j", (text) => {
    for (const limit of limits) assert.isUndefined(parsePacket(bytes(text), limit))
  })

  it.prop(
    "parses or fails without throwing",
    [Schema.String, Schema.Literals(["2", "3", "0", "51-"])],
    ([text, kind]) => {
      for (const limit of limits) {
        parsePacket(bytes(text), limit)
        parsePacket(bytes(`${kind}/smcp,1${text}`), limit)
        parsePacket(bytes(`${kind}/smcp,1["a",${text}]`), limit)
      }
    }
  )
})
