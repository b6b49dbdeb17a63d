import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { decodeService, decodeServices } from "../../../src/domain/devices/serviceDefinitions.ts"

const parameters = {
  type: "object",
  properties: {
    format: { type: "string", enum: ["simple", "detailed"], description: "时间格式", minLength: 1 },
    count: { type: "integer", minimum: 0, maximum: 9, "x-vendor": true }
  },
  required: ["format"]
}

describe("service definition", () => {
  it("keeps all of its members", () => {
    assert.deepStrictEqual(Result.getOrThrow(decodeService("get_time", { description: "时间", parameters, more: 1 })), {
      description: "时间",
      parameters
    })
  })

  it.each([{}, { parameters: null, description: null }, { parameters: {} }])(
    "can omit its parameters: %j",
    (definition) => {
      assert.deepStrictEqual(Result.getOrThrow(decodeService("a", definition)), {
        description: "",
        parameters: { type: "object", properties: {} }
      })
    }
  )

  it.each([
    ["a", null, /object/],
    ["a", { description: 3 }, /description/],
    ["a", { parameters: { type: "array" } }, /parameters\.type/],
    ["a", { parameters: { properties: { x: { type: "数据类型" } } } }, /parameters\.properties\.x\.type/],
    ["a", { parameters: { properties: { x: { enum: "a" } } } }, /parameters\.properties\.x\.enum/],
    ["a", { parameters: { required: "x" } }, /parameters\.required/],
    ["", {}, /name is empty/],
    ["n".repeat(129), {}, /longer than 128/]
  ])("says where it is invalid, and why: %s %j", (name, definition, words) => {
    assert.match(Result.getOrThrow(Result.flip(decodeService(name, definition))), words)
  })

  it("has a name of at most 128 characters", () => assert.isTrue(Result.isSuccess(decodeService("n".repeat(128), {}))))

  it("affects no other definition when it is invalid", () => {
    const { errors, services } = decodeServices({ good: { parameters }, bad: 7, also: {} }, 10)
    assert.deepStrictEqual([...services.keys()], ["good", "also"])
    assert.lengthOf(errors, 1)
    assert.match(errors[0] ?? "", /^"bad": /)
  })

  it("causes a short error of any invalid definition", () => {
    const properties = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`p${index}`, 3]))
    const long = { ["k".repeat(1000)]: 3 }
    const { errors } = decodeServices(
      { many: { parameters: { properties } }, long: { parameters: { properties: long } } },
      10
    )
    for (const error of errors) assert.isAtMost(error.length, 400)
    const [named] = decodeServices({ ["n".repeat(1000)]: {} }, 10).errors
    assert.isAtMost(named?.length ?? 0, 200)
  })

  it("exceeds the limit one service at a time", () => {
    const { errors, services } = decodeServices({ a: {}, b: {}, c: {} }, 2)
    assert.deepStrictEqual([...services.keys()], ["a", "b"])
    assert.deepStrictEqual(errors, ['"c": the device already has 2 services'])
  })
})
