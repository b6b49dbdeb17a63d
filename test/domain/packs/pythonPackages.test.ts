import { Result } from "effect"
import { assert, describe, it } from "vitest"
import { parsePackages } from "../../../src/domain/packs/npmPackages.ts"
import { parsePythonPackage } from "../../../src/domain/packs/pythonPackages.ts"

describe("package of the Python index", () => {
  it.each([
    ["requests", "requests"],
    ["requests==2.31.0", "requests==2.31.0"],
    [" Requests == 2.31.0 ", "requests==2.31.0"],
    ["a.b_c--d", "a-b-c-d"],
    ["httpx>=0.27,<1", "httpx>=0.27,<1"],
    ["httpx >= 0.27, != 0.28.0", "httpx>=0.27,!=0.28.0"],
    ["pillow~=12.0", "pillow~=12.0"],
    ["numpy==2.*", "numpy==2.*"],
    ["uvicorn[standard]==0.38.0", "uvicorn[standard]==0.38.0"],
    ["uvicorn[a, b]", "uvicorn[a,b]"],
    ["pack==1.0rc1.post2+local.1", "pack==1.0rc1.post2+local.1"]
  ])("accepts %s", (text, spec) => {
    assert.strictEqual(Result.getOrThrow(parsePythonPackage(text)).spec, spec)
  })

  it.each([
    ["", /empty/],
    ["--index-url=https://a", /starts with '-'/],
    ["-r requirements.txt", /starts with '-'/],
    ["https://example.org/a.whl", /no URLs and no paths/],
    ["a @ https://example.org/a.whl", /no URLs and no paths/],
    ["git+https://example.org/a", /no URLs and no paths/],
    ["./a", /no URLs and no paths/],
    ["a\\b", /no URLs and no paths/],
    ["a; python_version < '4'", /markers are not supported/],
    ["a b", /no version or range/],
    ["a==", /no version or range/],
    ["a>1 --pre", /no version or range/],
    ["a=1", /no version or range/],
    ["_a", /no version or range/],
    ["a==latest", /no version or range/],
    ["a$(x)", /no version or range/],
    ["a".repeat(257), /longer than 256/]
  ])("rejects %s", (text, reason) => {
    assert.match(Result.getOrThrow(Result.flip(parsePythonPackage(text))), reason)
  })

  it("knows two spellings of one package", () => {
    const parse = (...given: ReadonlyArray<string>) => parsePackages(given, parsePythonPackage)
    assert.deepStrictEqual(Result.getOrThrow(parse("b", "A_b==1", "a-b==1")).specs, ["a-b==1", "b"])
    assert.match(Result.getOrThrow(Result.flip(parse("a-b==1", "A.B==2"))), /conflicts with 'a-b==1'/)
  })
})
