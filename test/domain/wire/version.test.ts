import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  isCompatible,
  formatVersion,
  versionGate,
  parseVersion,
  type Version
} from "../../../src/domain/wire/version.ts"

const version = (text: string): Version => Result.getOrThrow(parseVersion(text))
const server = version("0.2.0")
const bodyOf = (values: ReadonlyArray<string>, ...[first = server, ...others]: ReadonlyArray<Version>) =>
  Result.match(versionGate(values, [first, ...others]), {
    onSuccess: () => "admitted" as const,
    onFailure: ({ body }) => body
  })

const Numbers = Schema.Struct({ major: Schema.Natural, minor: Schema.Natural, patch: Schema.Natural })

describe("version", () => {
  it.prop("ignores the patch in compatibility", [Numbers, Numbers, Schema.Natural], ([client, host, patch]) => {
    assert.strictEqual(isCompatible(client, host), isCompatible({ ...client, patch }, host))
  })

  it.each([
    ["0.2.0", "0.2.0", true],
    ["0.2.1", "0.2.0", true],
    ["0.2.0", "0.2.3", true],
    ["0.2.0", "0.3.0", false],
    ["0.3.0", "0.2.0", false],
    ["1.0.0", "0.2.0", false],
    ["1.0.0", "1.2.0", true],
    ["1.2.0", "1.0.0", false],
    ["1.0.9", "1.0.0", true],
    ["2.0.0", "1.9.0", false],
    ["0.2.0", "1.0.0", false],
    ["0.1.5", "0.2.0", false]
  ])("decides client %s and server %s: %s", (client, host, expected) => {
    assert.strictEqual(isCompatible(version(client), version(host)), expected)
  })

  it.each([[[]], [[""]]])("rejects the missing version %j with the exact body", (values) => {
    assert.deepStrictEqual(bodyOf(values), { code: 400, message: "Missing a2c_version query parameter" })
  })

  it.each(["abc", "0.2", "0.2.0.1", "0.2.x", "v0.2.0", "0.2.0-dev", "-0.2.0", "0.2. 0", "00.2.0", "٠.٢.٠"])(
    "rejects %s as version",
    (text) => {
      const body = bodyOf([text])
      assert.isTrue(body !== "admitted" && body.code === 400 && body.message.startsWith("Invalid a2c_version: "))
    }
  )

  it("rejects several versions, also equal ones, and when the first one is empty", () => {
    for (const values of [
      ["0.2.0", "0.2.0"],
      ["", "0.2.0"]
    ]) {
      const body = bodyOf(values)
      assert.isTrue(body !== "admitted" && body.code === 400 && body.message.endsWith("given more than once"))
    }
  })

  it("accepts a version of at most 32 characters", () => {
    const digits = (count: number) => parseVersion(`${"1".repeat(14)}.2.${"3".repeat(count)}`)
    assert.deepStrictEqual([Result.isSuccess(digits(15)), Result.isSuccess(digits(16))], [true, false])
  })

  it("rejects numbers beyond the safe integers, whose digits would change", () => {
    const results = ["1.0.9007199254740991", "1.0.9007199254740992"].map((text) =>
      Result.map(parseVersion(text), formatVersion)
    )
    assert.deepStrictEqual(results.map(Result.getOrUndefined), ["1.0.9007199254740991", undefined])
  })

  it("omits a long version from the response", () => {
    assert.notInclude(JSON.stringify(bodyOf(["9".repeat(5000)])), "9999")
  })

  it("rejects an incompatible version with both versions and the supported range", () => {
    assert.deepStrictEqual(Result.flip(versionGate(["0.3.0"], [server])).pipe(Result.getOrThrow), {
      status: 400,
      headers: { "X-A2C-Error-Code": "4008" },
      body: {
        code: 4008,
        message: "Protocol version mismatch",
        server_version: "0.2.0",
        client_version: "0.3.0",
        min_supported: "0.2.0",
        max_supported: "0.2.999"
      }
    })
  })

  it("admits the versions of every served line, and names the full range to others", () => {
    const lines = [version("0.2.0"), version("0.4.0")]
    for (const client of ["0.2.9", "0.4.1"]) assert.strictEqual(bodyOf([client], ...lines), "admitted")
    const range = { server_version: "0.4.0", min_supported: "0.2.0", max_supported: "0.4.999" }
    for (const client of ["0.1.0", "0.3.0", "0.5.0"])
      assert.deepInclude(bodyOf([client], ...lines), { code: 4008, ...range })
  })

  it("starts the supported range at the first minor from 1.0 on", () => {
    const range = { min_supported: "1.0.0", max_supported: "1.4.999" }
    assert.deepInclude(bodyOf(["1.5.0"], version("1.4.2")), { code: 4008, ...range })
  })
})
