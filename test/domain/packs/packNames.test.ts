import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { isValidToolName, detectPack, parsePackName } from "../../../src/domain/packs/packNames.ts"

const nameOf = (folder: string) => Result.getOrThrow(parsePackName(folder))
const folder = (name: string, ...files: ReadonlyArray<string>) => detectPack({ name, files })
const file = (name: string) => detectPack({ name, files: undefined })
const readyOf = (candidate: ReturnType<typeof detectPack>) => {
  assert.isDefined(candidate)
  return Result.getOrThrow(candidate.outcome)
}
const errorOf = (candidate: ReturnType<typeof detectPack>) => {
  assert.isDefined(candidate)
  return Result.getOrThrow(Result.flip(candidate.outcome))
}

describe("pack name", () => {
  it.each([
    ["fetch", "FetchTool"],
    ["polish", "PolishTool"],
    ["video_generate", "VideoGenerateTool"],
    ["sm_auth", "SmAuthTool"],
    ["a1_b2", "A1B2Tool"]
  ])("parses %s as class %s", (name, className) => {
    const { files, warnings, ...read } = nameOf(name)
    assert.strictEqual(read.className, className)
    assert.deepStrictEqual(warnings, [])
    const expected = ["ts", "mts", "js", "mjs", "py"].map((extension) => `${name}_tool.${extension}`)
    assert.deepStrictEqual(files, expected)
  })

  it.each([
    ["x__y", "XYTool"],
    ["_x", "XTool"],
    ["myAPI", "MyapiTool"],
    ["文本", "文本Tool"],
    ["ßa", "SsaTool"],
    ["Fetch", "FetchTool"]
  ])("parses %s as class %s with a warning", (name, className) => {
    assert.strictEqual(nameOf(name).className, className)
    assert.match(nameOf(name).warnings.join(), /not snake_case/)
  })

  it.each(["3d_view", "my-tool", "a b", "a.b"])("rejects %s, which makes no class", (name) => {
    assert.match(Result.getOrThrow(Result.flip(parsePackName(name))), /cannot be the name of its class/)
  })

  it.each(["__pycache__", "node_modules", ".git", ".x_tool.ts", ""])("ignores %s", (name) => {
    assert.isUndefined(folder(name, `${name}_tool.ts`))
    assert.isUndefined(file(name))
    assert.isTrue(Result.isFailure(parsePackName(name)))
  })

  it.prop("parses or rejects any name, and removes underscores from the class", [Schema.String], ([name]) => {
    const read = parsePackName(name)
    if (Result.isSuccess(read)) assert.notInclude(read.success.className, "_")
  })
})

describe("folder entry", () => {
  it("detects a folder with its tool file", () => {
    assert.deepStrictEqual(readyOf(folder("sm_auth", "README.md", "sm_auth_tool.ts", "config.yaml")), {
      className: "SmAuthTool",
      file: "sm_auth_tool.ts",
      language: "node",
      warnings: []
    })
  })

  it("loads the tool's file beside an index", () => {
    assert.strictEqual(readyOf(folder("a", "a_tool.js", "index.mjs")).file, "a_tool.js")
  })

  it("detects a Python package", () => {
    assert.deepStrictEqual(readyOf(folder("sm_auth", "__init__.py", "config.yaml", "sm_auth_tool.py")), {
      className: "SmAuthTool",
      file: "sm_auth_tool.py",
      language: "python",
      warnings: []
    })
  })

  it("detects a single file", () => {
    const ready = {
      className: "TextCounterTool",
      file: "text_counter_tool.mts",
      language: "node" as const,
      warnings: []
    }
    assert.deepStrictEqual(file("text_counter_tool.mts"), { name: "text_counter", outcome: Result.succeed(ready) })
  })

  it.each(["index.ts", "index.mjs", "index.cts", "config.yml", "config.yaml", "__init__.py"])(
    "takes %s for the sign of a pack",
    (name) => {
      assert.isString(errorOf(folder("a", name)))
    }
  )

  it.each(["myindex.ts", "index.tsx", "index.xjs", "config.yamlx", "x__init__.py", "__init__.pyc", "a_tool.ts1"])(
    "takes %s for no sign of a pack",
    (name) => {
      assert.isUndefined(folder("a", name))
      assert.isUndefined(file(name))
    }
  )

  it("gives advice only for a file of the pack, and only where there is some", () => {
    assert.notInclude(errorOf(folder("a", "b_tool.py")), "Python")
    assert.notInclude(errorOf(folder("a", "a_tool.foo")), "a_tool.foo")
    assert.notInclude(errorOf(folder("a", "b_tool.foo", "index.ts")), "b_tool.foo")
    assert.notInclude(errorOf(folder("a", "helpers.ts", "index.ts")), "helpers.ts")
  })

  it("ignores a file with the name of an ignored folder", () => {
    assert.isUndefined(file("node_modules_tool.ts"))
  })

  it.each(["README.md", "helpers.ts", "a_tool.test.ts", "a_tool.d.ts", "a_tool.txt", "_tool.ts", "tool.ts"])(
    "ignores the file %s",
    (name) => {
      assert.isUndefined(file(name))
    }
  )

  it("ignores a folder without any sign of a pack", () => {
    assert.isUndefined(folder("shared", "text.ts", "README.md"))
    assert.isUndefined(folder("empty"))
  })

  it.each([
    [["index.ts"], "its folder has no 'a_tool.ts', 'a_tool.mts', 'a_tool.js', 'a_tool.mjs' or 'a_tool.py'"],
    [["config.yaml"], "its folder has no 'a_tool.ts'"],
    [["a_tool.py"], "its folder has no '__init__.py', which makes it a Python package"],
    [["__init__.py", "b_tool.py"], "'b_tool.py' belongs in a folder 'b'"],
    [["__init__.py", "a.py"], "its folder has no 'a_tool.ts'"],
    [["__init__.py", "a_tool.py", "a_tool.ts"], "its folder has 'a_tool.ts', 'a_tool.py': keep one of them"],
    [["a_tool.cjs"], "only 'a_tool.cjs': only ES modules are supported"],
    [["b_tool.ts"], "'b_tool.ts' belongs in a folder 'b'"],
    [["A_tool.ts"], "'A_tool.ts' belongs in a folder 'A'"],
    [["a.ts"], "rename 'a.ts' to 'a_tool.ts'"],
    [["a_tool.js", "a_tool.ts"], "its folder has 'a_tool.ts', 'a_tool.js': keep one of them"],
    [["a_tool.ts", "index.js", "index.ts"], "its folder has 'index.ts', 'index.js': keep one of them"]
  ])("says what is wrong with a folder 'a' with %j", (files, words) => {
    assert.include(errorOf(folder("a", ...files)), words)
  })

  it("rejects a name that makes no class", () => {
    assert.match(errorOf(folder("3d", "3d_tool.ts")), /3dTool/)
    assert.match(errorOf(file("3d_tool.ts")), /3dTool/)
  })

  it("explains a file in another language", () => {
    assert.match(errorOf(file("a_tool.py")), /a Python pack is a folder with this file and an '__init__\.py'/)
  })
})

describe("tool name", () => {
  it.each(["a", "video_generate", "A-1", "x".repeat(64)])("accepts %s", (name) => {
    assert.isTrue(isValidToolName(name))
  })

  it.each(["", "a b", "a.b", "文本", "x".repeat(65), "a\n"])("rejects %j", (name) => {
    assert.isFalse(isValidToolName(name))
  })
})
