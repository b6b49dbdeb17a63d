import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parsePackage, parsePackages } from "../../../src/domain/packs/npmPackages.ts"

const errorOf = (text: string) => Result.getOrThrow(Result.flip(parsePackage(text)))
const all = (...texts: ReadonlyArray<string>) => Result.getOrThrow(parsePackages(texts))

describe("package specification", () => {
  it.each([
    ["lodash", "lodash", undefined],
    [" lodash ", "lodash", undefined],
    ["lodash@4.17.21", "lodash", "4.17.21"],
    ["lodash@^4", "lodash", "^4"],
    ["lodash@~4.17", "lodash", "~4.17"],
    ["lodash@4.x", "lodash", "4.x"],
    ["lodash@*", "lodash", "*"],
    ["lodash@latest", "lodash", "latest"],
    ["lodash@1.0.0-beta.1+build.5", "lodash", "1.0.0-beta.1+build.5"],
    ["@types/node", "@types/node", undefined],
    ["@types/node@24.1.0", "@types/node", "24.1.0"],
    ["JSONStream@1", "JSONStream", "1"],
    ["node_modules2", "node_modules2", undefined],
    ["xfavicon.ico", "xfavicon.ico", undefined],
    ["a".repeat(214), "a".repeat(214), undefined],
    [`a@${"1".repeat(128)}`, "a", "1".repeat(128)]
  ])("accepts %s", (text, name, range) => {
    const spec = range === undefined ? name : `${name}@${range}`
    assert.deepStrictEqual(Result.getOrThrow(parsePackage(text)), { name, spec, hint: undefined })
  })

  it.each([
    ["requests==2.31.0", "requests@2.31.0"],
    ["@a/b==1.*", "@a/b@1.*"]
  ])("accepts %s in Python syntax, with a hint", (text, spec) => {
    assert.deepStrictEqual(all(text).specs, [spec])
    assert.match(all(text).hints.join(), /not from PyPI/)
  })

  it.each([
    ["", /empty/],
    ["a b", /space/],
    ["a\n", undefined],
    ["a\nb", /space/],
    ["--index-url", /npm options/],
    ["-g", /npm options/],
    ["git+https://example.org/a.git", /no URLs/],
    ["file:../a", /no URLs/],
    ["a@npm:b@1", /no URLs/],
    ["a@file:b", /no URLs/],
    ["user/repository", /other than after a scope/],
    ["./a", /other than after a scope/],
    ["/etc", /other than after a scope/],
    ["@a/b/c", /other than after a scope/],
    ["@a", /scope but no name/],
    ["@/a", /not a valid package name/],
    ["@a/", /not a valid package name/],
    ["@a/@b", /not a valid package name/],
    ["..", /'\.\.'/],
    ["a@1..2", /'\.\.'/],
    [".a", /not a valid package name/],
    ["_a", /not a valid package name/],
    ["a;b", /shells/],
    ["a`b`", /shells/],
    ["$(a)", /shells/],
    ["a&b", /shells/],
    ["a|b", /shells/],
    ["a'b", /shells/],
    ["a\\b", /shells/],
    ["工具", /shells/],
    ["a>=1", /comparators are not supported/],
    ["a@>1", /comparators are not supported/],
    ["a~=1.2", /comparators are not supported/],
    ["a!=1.2", /comparators are not supported/],
    ["a[extra]==1", /brackets/],
    ["a@", /not a version/],
    ["a==", /not a version/],
    ["a===1", undefined],
    ["a@1.2.3.4", /not a version/],
    ["a@@1", /not a version/],
    ["a@1/2", /not a version/],
    ["==1", /not a valid package name/],
    ["node_modules", /is reserved/],
    ["Favicon.ico", /is reserved/],
    ["@a/node_modules", /is reserved/],
    ["a@1@2", /not a version/],
    ["a".repeat(215), /longer than 214/],
    [`a@${"1".repeat(129)}`, /longer than 128/]
  ])("rejects %j with a reason", (text, words) => {
    if (words === undefined) assert.isTrue(Result.isSuccess(parsePackage(text)))
    else assert.match(errorOf(text), words)
  })

  it("sorts packages and removes duplicates", () => {
    assert.deepStrictEqual(all("b@1", "a", "b@1", "b==1"), { specs: ["a", "b@1"], hints: [] })
    assert.deepStrictEqual(all(), { specs: [], hints: [] })
  })

  it("rejects two versions of one package", () => {
    const error = Result.getOrThrow(Result.flip(parsePackages(["a@1", "a@2"])))
    assert.strictEqual(error, "'a@2': it conflicts with 'a@1': keep one of them")
  })

  it("reports every error", () => {
    const error = Result.getOrThrow(Result.flip(parsePackages(["a b", "ok", "-c"])))
    assert.match(error, /^'a b': .*; '-c': /)
  })

  it("quotes the start of a long text", () => {
    const error = Result.getOrThrow(Result.flip(parsePackages([`a ${"b".repeat(100)}`])))
    assert.match(error, /^'a b{62}': /)
  })

  it("rejects too many packages, and reads no more than the maximum", () => {
    const many = (count: number) => parsePackages(Array.from({ length: count }, (_, index) => `-${index}`))
    assert.strictEqual(all(...Array.from({ length: 256 }, (_, index) => `a${index}`)).specs.length, 256)
    assert.isTrue(Result.isFailure(parsePackages(Array.from({ length: 257 }, (_, index) => `a${index}`))))
    assert.lengthOf(Result.getOrThrow(Result.flip(many(300))).split("; "), 257)
  })

  it.prop("accepts only names and versions, and parses its own output", [Schema.String], ([text]) => {
    for (const given of [text, `a@${text}`, `@${text}/a`, `${text}==1`]) {
      const read = parsePackages([given])
      if (Result.isFailure(read)) continue
      const [spec = ""] = read.success.specs
      assert.match(spec, /^(@[\w.-]+\/)?[\w.-]+(@[\w.^~*=+-]+)?$/)
      assert.deepStrictEqual(all(spec).specs, [spec])
    }
  })
})
