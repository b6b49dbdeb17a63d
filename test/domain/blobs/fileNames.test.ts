import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { numberFileName, safeFileName } from "../../../src/domain/blobs/fileNames.ts"

const names: ReadonlyArray<readonly [hint: string | undefined, name: string]> = [
  ["notes.txt", "notes.txt"],
  ["Übersicht 2026.pdf", "Übersicht 2026.pdf"],
  [undefined, "upload"],
  ["", "upload"],
  ["  ", "upload"],
  ["..", "upload"],
  ["/", "upload"],
  ["/etc/passwd", "passwd"],
  ["../../.ssh/authorized_keys", "authorized_keys"],
  ["C:\\Users\\me\\a.txt", "a.txt"],
  ["folder/", "folder"],
  [".bashrc", "bashrc"],
  ["a\u0000b\n.txt", "ab.txt"],
  ["invoice\u202Efdp.exe", "invoicefdp.exe"],
  ["a\u200b\u3164\u2800.txt", "a.txt"],
  ["\ud800.txt", "txt"],
  ['a<b>:"|?*.txt', "a_b______.txt"],
  ["name. . .", "name"],
  ["CON", "_CON"],
  ["nul.txt", "_nul.txt"],
  ["com1.tar.gz", "_com1.tar.gz"],
  ["console.txt", "console.txt"],
  [`${"x".repeat(300)}.json`, `${"x".repeat(115)}.json`],
  [`${"x".repeat(110)} .${"y".repeat(20)}`, `${"x".repeat(110)} .${"y".repeat(8)}`],
  [`${"x".repeat(110)} .md`, `${"x".repeat(110)} .md`],
  ["e\u200b\u0301.txt", "é.txt"]
]

/** Parts of hints that need care. */
const pieces = [
  "a",
  ".",
  " ",
  "/",
  "\\",
  ":",
  "con",
  "NUL",
  "\u0000",
  "\u202e",
  "\u3164",
  "\u00a0",
  "é",
  "😀",
  "\ud800"
]

describe("safeFileName", () => {
  it.each(names)("makes of %j the name %j", (hint, name) => {
    assert.strictEqual(safeFileName(hint), name)
  })

  it.prop(
    "gives one visible, bounded segment of a path, which it leaves unchanged",
    [Schema.Array(Schema.Union([Schema.Literals(pieces), Schema.String]))],
    ([hints]) => {
      const name = safeFileName(hints.join(""))
      assert.notMatch(name, /[/\\\p{C}<>:"|?*]|^\.|[. ]$|^$/u)
      assert.isAtMost(Buffer.byteLength(name), 120)
      assert.strictEqual(safeFileName(name), name)
    },
    { arbitrary: { runs: 500, size: 120 } }
  )
})

describe("numberFileName", () => {
  it("numbers a name before its extension, from the second on", () => {
    assert.deepStrictEqual(
      [1, 2, 10].map((n) => numberFileName("notes.txt", n)),
      ["notes.txt", "notes (2).txt", "notes (10).txt"]
    )
    assert.strictEqual(numberFileName("README", 2), "README (2)")
  })
})
