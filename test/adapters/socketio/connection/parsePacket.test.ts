import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  type InboundPacket,
  type PacketLimits,
  parsePacket
} from "../../../../src/adapters/socketio/connection/parsePacket.ts"
import { scanJsonObject } from "../../../../src/adapters/bytes/jsonScanner.ts"
import { maxEnvelopeBytes, maxUnauthenticatedBytes } from "../../../../src/adapters/socketio/limits.ts"
import { isJsonObject, type JsonObject, parseJson } from "../../../../src/domain/json.ts"

const inFull = { namespace: "/smcp", maxMessageBytes: 1_000_000, validateBytes: Number.POSITIVE_INFINITY }
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
      const [ack] = ackOf(parsePacket(bytes(`3/smcp,7[${text}]`), limit)).values
      if (Result.isFailure(body.value())) continue
      assert.strictEqual(Result.getOrThrow(body.text()).trim(), text)
      assert.deepStrictEqual(Result.getOrThrow(body.value()), parseJson(text))
      assert.strictEqual(ack === undefined ? "" : Result.getOrThrow(ack.text()), text)
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
    const small = { namespace: "/smcp", maxMessageBytes: 10, validateBytes: 5 }
    const large = event(parsePacket(bytes('2/smcp,1["client:x",{"a":"12345678901"}]'), small))
    assert.strictEqual(codeOf(large.body.head), 413)
  })

  it("counts its binary attachments and has an invalid body with them", () => {
    const read = event(parsePacket(bytes('52-/smcp,1["client:x",{"_placeholder":true,"num":0}]'), inFull))
    assert.strictEqual(read.attachments, 2)
    assert.strictEqual(codeOf(read.body.head), 400)
    const ack = ackOf(parsePacket(bytes('61-/smcp,1[{"_placeholder":true,"num":0}]'), inFull))
    assert.strictEqual(codeOf(ack.values[0]?.head), 400)
    assert.isUndefined(parsePacket(bytes('517-/smcp,1["client:x"]'), inFull))
  })

  it("is invalid when it would split into two packets over polling", () => {
    for (const limit of limits) {
      assert.isUndefined(parsePacket(bytes('2/smcp,1["client:x",{"a":"\u001e4\u001e"}]'), limit))
      assert.isUndefined(parsePacket(bytes('2/smcp,1["client:x",{"a":["\u001e4\u001e"]}]'), limit))
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
    '2/smcp,1["a";{}]',
    '2/smcp,1["\\x",{}]',
    '2/smcp,1x"a",{}]',
    '2/smcp,1{"a",{}]',
    '2/smcp,1["a",{}}',
    "3/smcp,1x{}]",
    "3/smcp,1[{}}",
    '52x/smcp,1["a",{}]',
    "61x/smcp,1[{}]",
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

describe("connect packet", () => {
  it.each([
    ["0/smcp,", "/smcp", undefined],
    ['0/smcp,{"token":"x"}', "/smcp", { token: "x" }],
    ["0", "/", undefined],
    ['0{"a":1}', "/", { a: 1 }],
    ["0/other", "/other", undefined],
    ["0/other,1", "/other", 1],
    ["0/smcp", "/smcp", undefined],
    ["0/smcq,", "/smcq", undefined]
  ])("has namespace and credentials of %j", (text, namespace, auth) => {
    assert.deepStrictEqual(parsePacket(bytes(text), inFull), { type: "connect", namespace, auth })
  })

  it("is limited, since its sender is not authenticated yet", () => {
    const ofLength = (length: number) => parsePacket(bytes(`0/smcp,"${"x".repeat(length - 9)}"`), inFull)
    assert.isDefined(ofLength(maxUnauthenticatedBytes))
    assert.isUndefined(ofLength(maxUnauthenticatedBytes + 1))
  })
})

describe("disconnect packet", () => {
  it.each([
    ["1/smcp,", "/smcp"],
    ["1", "/"],
    ["1/other,", "/other"]
  ])("has the namespace of %j", (text, namespace) => {
    assert.deepStrictEqual(parsePacket(bytes(text), inFull), { type: "disconnect", namespace })
  })
})

describe("packet of a namespace", () => {
  it.each([
    ['2/smcp,1["a",{}]', "/smcp"],
    ['2/other,1["a",{}]', "/other"],
    ['21["a",{}]', "/"],
    ["3/smcp,1[{}]", "/smcp"],
    ["3/other,1[{}]", "/other"],
    ["31[{}]", "/"],
    ['51-/smcp,1["a",{}]', "/smcp"],
    ["61-/other,1[{}]", "/other"]
  ])("names it in %j", (text, namespace) => {
    for (const limit of limits) assert.strictEqual(parsePacket(bytes(text), limit)?.namespace, namespace)
  })
})

describe("binary attachments", () => {
  it.each([
    ['5-/smcp,1["a",{}]', 0],
    ['516-/smcp,1["a",{}]', 16],
    ["616-/smcp,1[{}]", 16]
  ])("are announced by %j", (text, attachments) => {
    const packet = parsePacket(bytes(text), inFull)
    assert.strictEqual(packet?.type === "event" || packet?.type === "ack" ? packet.attachments : -1, attachments)
  })

  it.each(["617-/smcp,1[{}]", '51/smcp,1["a",{}]', "61[{}]"])("make %j invalid", (text) => {
    assert.isUndefined(parsePacket(bytes(text), inFull))
  })
})

describe("id", () => {
  it("has 15 digits at most", () => {
    for (const limit of limits) {
      assert.strictEqual(event(parsePacket(bytes('2/smcp,999999999999999["a",{}]'), limit)).id, 999_999_999_999_999)
      assert.isUndefined(parsePacket(bytes('2/smcp,1000000000000000["a",{}]'), limit))
    }
  })
})

describe("white space", () => {
  it.each([" ", "\n", "\r", "\t", " \r\n\t "])("%j is allowed between and after the parts of an array", (space) => {
    const parts = ["[", '"a"', ",", '{"b":[1]}', "]"].join(space)
    const ack = ["[", '{"b":[1]}', "]"].join(space)
    for (const limit of limits) {
      const read = event(parsePacket(bytes(`2/smcp,1${parts}${space}`), limit))
      assert.strictEqual(read.event, "a")
      assert.deepStrictEqual(read.body.value(), Result.succeed({ b: [1] }))
      const { values } = ackOf(parsePacket(bytes(`3/smcp,1${ack}${space}`), limit))
      assert.deepStrictEqual(
        values.map((value) => value.value()),
        [Result.succeed({ b: [1] })]
      )
    }
  })
})

describe("event name", () => {
  it("is limited where the body is not parsed in full", () => {
    const named = (length: number) => parsePacket(bytes(`2/smcp,1["${"x".repeat(length - 2)}",{}]`), scanned)
    assert.isDefined(named(maxEnvelopeBytes))
    assert.isUndefined(named(maxEnvelopeBytes + 1))
  })
})

describe("body of a size", () => {
  /** A JSON text of this many bytes. */
  const textOf = (length: number) => `"${"x".repeat(length - 2)}"`
  const read = (json: string, limit: PacketLimits) => ({
    ack: event(parsePacket(bytes(`2/smcp,1["a",${json}]`), limit)).body,
    acked: ackOf(parsePacket(bytes(`3/smcp,1[${json}]`), limit)).values[0]
  })
  const codes = (json: string, limit: PacketLimits) => {
    const { acked, ack } = read(json, limit)
    return [codeOf(ack.value()), codeOf(acked?.value())]
  }

  it("is accepted up to the limit of messages", () => {
    const limit = { namespace: "/smcp", maxMessageBytes: 20, validateBytes: 10 }
    assert.deepStrictEqual(codes(textOf(20), limit), [0, 0])
    assert.deepStrictEqual(codes(textOf(21), limit), [413, 413])
  })

  it("is parsed in full up to the limit of validation", () => {
    const limit = { namespace: "/smcp", maxMessageBytes: 100, validateBytes: 9 }
    // The nested text is no JSON: only a complete parse finds that.
    const bent = (length: number) => `{"a":[${"x".repeat(length - 8)}]}`
    assert.isUndefined(parsePacket(bytes(`2/smcp,1["a",${bent(9)}]`), limit))
    assert.isUndefined(parsePacket(bytes(`3/smcp,1[${bent(9)}]`), limit))
    const { acked, ack } = read(bent(10), limit)
    assert.deepStrictEqual([codeOf(ack.head), codeOf(ack.value())], [0, 400])
    assert.isFalse(acked?.isHeadParsed)
    assert.strictEqual(codeOf(acked?.value()), 400)
  })

  it("is parsed up to 64 KiB even when it is neither a text nor an object", () => {
    const array = (length: number) => `[${" ".repeat(length - 2)}]`
    assert.deepStrictEqual(codes(array(64 * 1024), scanned), [0, 0])
    assert.deepStrictEqual(codes(array(64 * 1024 + 1), scanned), [400, 400])
    assert.deepStrictEqual(codes(textOf(64 * 1024 + 1), scanned), [0, 0])
  })

  it("is one text only when nothing follows it", () => {
    const two = `"x",[${" ".repeat(64 * 1024)}]`
    assert.strictEqual(codeOf(event(parsePacket(bytes(`2/smcp,1["a",${two}]`), scanned)).body.value()), 400)
    assert.strictEqual(codeOf(ackOf(parsePacket(bytes(`3/smcp,1[${two}]`), scanned)).values[0]?.value()), 400)
  })
})

describe("acknowledgement", () => {
  it("has all its values", () => {
    for (const limit of limits) {
      const { id, values } = ackOf(parsePacket(bytes('3/smcp,7["a",[1],null]'), limit))
      assert.strictEqual(id, 7)
      assert.deepStrictEqual(
        values.map((value) => Result.getOrThrow(value.value())),
        ["a", [1], null]
      )
      assert.lengthOf(ackOf(parsePacket(bytes("3/smcp,7[]"), limit)).values, 0)
    }
  })

  it("has the code of each value that is not usable", () => {
    const { values } = ackOf(parsePacket(bytes('3/smcp,7[1,{"__proto__":1}]'), inFull))
    assert.deepStrictEqual(
      values.map((value) => codeOf(value.value())),
      [0, 400]
    )
  })
})

describe("scanner at its limits", () => {
  it("accepts 128 levels, counted with the outermost", () => {
    const nested = (levels: number) => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
    assert.isDefined(scanJsonObject(bytes(nested(128)), 0))
    assert.isUndefined(scanJsonObject(bytes(nested(129)), 0))
  })

  it("accepts 1000 members", () => {
    const withMembers = (count: number) =>
      `{${Array.from({ length: count }, (_, index) => `"m${index}":${index}`).join(",")}}`
    assert.strictEqual(Object.keys(scanJsonObject(bytes(withMembers(1000)), 0)?.head ?? {}).length, 1000)
    assert.isUndefined(scanJsonObject(bytes(withMembers(1001)), 0))
  })

  it.each([
    ['{"a":"\\\\"}', { a: "\\" }],
    ['{"a":"\\\""}', { a: '"' }],
    ['{"a":["\\\\"],"b":1}', { a: [], b: 1 }],
    ['{"a":["]\\"]"],"b":1}', { a: [], b: 1 }],
    ['{"a":"}"}', { a: "}" }]
  ])("finds the end of the text in %s", (text, head) => {
    assert.deepStrictEqual(scanJsonObject(bytes(text), 0), { head, end: text.length })
  })

  it.each(['{"a":"x}', '{"a":["x]}', '{"a', '{"a":[{}', '{"a":1 "b":2}', "{1:2}", '{"a":[}', '{"a":{]}', '{"a":{}]'])(
    "rejects %s",
    (text) => {
      assert.isUndefined(scanJsonObject(bytes(text), 0))
    }
  )

  it("begins at the given index, after white space", () => {
    assert.deepStrictEqual(scanJsonObject(bytes('x \t{"a":1}y'), 1), { head: { a: 1 }, end: 10 })
    assert.isUndefined(scanJsonObject(bytes('x{"a":1}'), 0))
  })
})
