import { isDeepStrictEqual } from "node:util"
import { runInNewContext } from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  asStrings,
  canonicalJson,
  checkJsonBody,
  checkParsedJson,
  maxJsonDepth,
  findRoundedIntegers,
  formatSpacedJson,
  hasAtMostParts,
  parseJson,
  parseJsonObject,
  parseJsonOrThrow,
  withoutUnsafeParts
} from "../../src/domain/json.ts"

const nested = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

/** The same object with its members in the opposite order. */
const withReversedMembers = (value: { readonly [name: string]: unknown }) =>
  Object.fromEntries(Object.entries(value).reverse())

describe("checkJsonBody", () => {
  it.prop("accepts any JSON except members named __proto__", [Schema.Json], ([value]) => {
    const text = JSON.stringify(value)
    assert.strictEqual(checkJsonBody(parseJson(text)) === undefined, !text.includes('"__proto__":'))
  })

  it("accepts nesting up to the limit, and rejects more without exhausting the stack", () => {
    assert.isUndefined(checkJsonBody(nested(maxJsonDepth)))
    for (const depth of [maxJsonDepth + 1, 1_000_000]) assert.match(checkJsonBody(nested(depth)) ?? "", /nested deeper/)
  })

  it("rejects binary data at every depth", () => {
    for (const binary of [new Uint8Array(3), new ArrayBuffer(3), Buffer.from("x")]) {
      assert.match(checkJsonBody(binary) ?? "", /binary/)
      assert.match(checkJsonBody({ params: [binary] }) ?? "", /binary/)
    }
  })

  it("rejects a member named __proto__, but accepts it as a value", () => {
    assert.match(checkJsonBody(JSON.parse('{"a":[{"__proto__":{"x":1}}]}')) ?? "", /__proto__/)
    assert.strictEqual(checkJsonBody({ name: "__proto__", constructor: 1 }), undefined)
  })
})

describe("checkParsedJson", () => {
  it.each([`[${JSON.stringify(nested(maxJsonDepth))}]`, `{"a":${JSON.stringify(nested(maxJsonDepth))}}`])(
    "rejects one level too many: %#",
    (text) => {
      assert.match(checkParsedJson(text, parseJson(text)) ?? "", /nested deeper/)
    }
  )

  const wraps = [
    "[*]",
    '{"a":*}',
    '[[],{"a":1},*]',
    '{"__proto__":*}',
    String.raw`{"\u005f_proto__":*}`,
    '["__proto__",*]'
  ]

  it.prop(
    "finds what checkJsonBody finds",
    [Schema.Array(Schema.Literals(wraps)), Schema.Literals([0, 60, 63, 64, 65, 126, 127, 128])],
    ([around, depth]) => {
      const wrap = (text: string, one: string) => one.replace("*", () => text)
      const text = around.reduce(wrap, JSON.stringify(nested(depth)))
      const value = parseJson(text)
      assert.strictEqual(checkParsedJson(text, value), checkJsonBody(value))
    }
  )
})

describe("parseJson", () => {
  // The second of equal names counts, and white space may stand before a colon.
  const texts = [
    String.raw`{"":1,"\n":2,"\"":3,"\\":4}`,
    String.raw`[{"a":"\n","\u0062" : {"a":1,"c\u00e9":["\\",{"\t":"\":"}]}}, "\u0061", 1]`,
    String.raw`{"":1,"\u0061":2,"b":3,"a":4}`,
    String.raw`{"":1,"\udfff0":2,"\udfff":3}`,
    `{"":1,"\udfff0":2,"\\n":3}`,
    String.raw`{"":1,"\u005f_proto__":{"x":1}}`,
    String.raw`{"":1,"\u0031":2}`
  ]
  const keysOf = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? Object.entries(value).map(([name, member]) => [name, keysOf(member)])
      : value

  it("keeps a name with an escape apart from a backslash in an earlier text", () => {
    JSON.parse(String.raw`{"first":1,"\\":2}`)
    assert.deepStrictEqual(keysOf(parseJson(String.raw`{"first":1,"\u00e9":2}`)), [
      ["first", 1],
      ["é", 2]
    ])
  })

  it.each(texts)("parses %s like JSON.parse in a new context", (text) => {
    // A new context has parsed no other text.
    const expected: unknown = runInNewContext(`JSON.parse(${JSON.stringify(text)})`)
    assert.deepStrictEqual(keysOf(parseJson(text)), keysOf(expected))
  })

  it.each([
    String.raw`{"\x":1}`,
    String.raw`{"\u12":1}`,
    String.raw`\":1`,
    String.raw`"a\n":1`,
    String.raw`{"a"\"b":1}`,
    '{"a\\'
  ])("rejects %s", (text) => {
    assert.isUndefined(parseJson(text))
    assert.throws(() => parseJsonOrThrow(text), SyntaxError)
  })

  it.prop(
    "accepts exactly what JSON.parse accepts",
    [Schema.Json, Schema.Natural, Schema.String],
    ([value, at, junk]) => {
      const text = JSON.stringify(value).replaceAll(/[a-z]/g, String.raw`\u0061`)
      const place = at % (text.length + 1)
      for (const whole of [text, text.slice(0, place), `${text.slice(0, place)}${junk}\\"${text.slice(place)}`]) {
        const isJson = Result.isSuccess(Result.try((): unknown => JSON.parse(whole)))
        assert.strictEqual(parseJson(whole) !== undefined, isJson)
      }
    }
  )

  it("parses hostile nesting around a name with an escape without exhausting the stack", () => {
    const depth = 100_000
    const value = parseJson(`${"[".repeat(depth)}{"\\n":1}${"]".repeat(depth)}`)
    assert.match(checkJsonBody(value) ?? "", /nested deeper/)
  })
})

describe("asStrings", () => {
  it.each([
    [["a", "b"], true],
    [[], true],
    [["a", 1], false],
    ["a", false]
  ] as const)("reads %j as texts: %s", (value, isList) => {
    assert.deepStrictEqual<unknown>(asStrings(value), isList ? value : undefined)
  })
})

describe("parseJsonObject", () => {
  it.each([
    ['{"a":1}', { a: 1 }],
    ["[1]", undefined],
    ["{", undefined],
    [{ a: 1 }, undefined]
  ] as const)("parses %j to %j", (text, value) => {
    assert.deepStrictEqual(parseJsonObject(text), value)
  })
})

describe("hasAtMostParts", () => {
  it.each([
    [[1, { a: 2 }], 4, true],
    [[1, { a: 2 }], 3, false],
    [[], 1, true],
    ["x", 0, false]
  ] as const)("counts the members and items of %j up to %i", (value, max, isSmall) => {
    assert.strictEqual(hasAtMostParts(value, max), isSmall)
  })
})

describe("formatSpacedJson", () => {
  it("uses the seed's separators and escapes", () => {
    assert.strictEqual(
      formatSpacedJson({ a: [1, true, null], ü: "電\n\u007f" }),
      String.raw`{"a": [1, true, null], "\u00fc": "\u96fb\n\u007f"}`
    )
  })

  it("omits undefined members, and writes undefined items as null", () => {
    assert.strictEqual(formatSpacedJson({ a: undefined, b: [undefined] }), '{"b": [null]}')
  })
})

describe("findRoundedIntegers", () => {
  it.each([
    ["1917043659912705296", ""],
    ["-1917043659912705296", ""],
    ["9007199254740993", ""],
    ["18446744073709551615", ""],
    ["10000000000000001", ""],
    ["1732723200000000001", ""],
    ["115792089237316195423570985008687907853269984665640564039457584007913129639935", ""],
    ["1.917043659912705296e18", ""],
    ['{"id":1917043659912705296}', "/id"],
    ['{"a":[0,{"b/c":9223372036854775807}]}', "/a/1/b~1c"]
  ])("finds %s", (text, pointer) => {
    assert.deepStrictEqual(findRoundedIntegers(JSON.parse(text)), [pointer])
  })

  it.each([
    "9007199254740991",
    "-9007199254740991",
    "0.1234567890123456789",
    "12345678901.234567890123",
    "1e21",
    "-1e300",
    "6.02214076e23",
    "1.7976931348623157e308",
    '"1917043659912705296"',
    '{"a":[null,true,"9007199254740993",{}]}'
  ])("passes %s", (text) => {
    assert.deepStrictEqual(findRoundedIntegers(JSON.parse(text)), [])
  })

  it("searches deep values", () => {
    let deep: unknown = 2 ** 60
    for (let level = 0; level < 100_000; level++) deep = [deep]
    assert.deepStrictEqual(findRoundedIntegers(deep), ["/0".repeat(100_000)])
  })

  it("stops at the first ten", () => {
    assert.lengthOf(findRoundedIntegers(Array.from({ length: 100 }, () => 2 ** 60)), 10)
  })
})

describe("canonicalJson", () => {
  it("sorts members at every depth and omits white space", () => {
    assert.strictEqual(
      canonicalJson({ b: [{ y: 1, x: "ü" }], a: null, "": true }),
      '{"":true,"a":null,"b":[{"x":"ü","y":1}]}'
    )
  })

  it("formats numbers like ECMAScript", () => {
    assert.strictEqual(canonicalJson([1.0, 1e21, 0.000001, -0]), "[1,1e+21,0.000001,0]")
  })

  it("omits undefined members like JSON.stringify", () => {
    assert.strictEqual(canonicalJson({ a: undefined, b: [undefined] }), '{"b":[null]}')
  })

  it.prop(
    "gives equal texts for equal values, and encodes the same value as JSON.stringify",
    [Schema.Record(Schema.String, Schema.Json)],
    ([value]) => {
      const text = canonicalJson(value)
      assert.strictEqual(canonicalJson(withReversedMembers(value)), text)
      assert.isTrue(isDeepStrictEqual(parseJson(text), parseJson(JSON.stringify(value))))
    }
  )
})

describe("withoutUnsafeParts", () => {
  const wrapped = (value: unknown) => ({ a: [{ b: [{ c: value }] }] })

  it("leaves out members named __proto__, and keeps all others", () => {
    const value: unknown = JSON.parse('{"a":[{"__proto__":1,"b":{"__proto__":{},"c":null}}],"__proto__":[]}')
    assert.deepStrictEqual(withoutUnsafeParts(value), { a: [{ b: { c: null } }] })
  })

  it.each([1, 119, 120, 121, 128, 129, 1000, 20_000])(
    "gives what a message of the office may hold: %s levels",
    (depth) => assert.isUndefined(checkJsonBody(wrapped(withoutUnsafeParts(nested(depth)))))
  )

  it("keeps 120 levels", () => assert.deepStrictEqual(withoutUnsafeParts(nested(120)), nested(120)))
})
