import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)
const readme = readFileSync("README.md", "utf8")

/** What stands in the README's blocks of a language. */
const blocks = (language: string): ReadonlyArray<string> =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block)

/** Lines as they are compared: indentation says only how deep in a program something stands. */
const flat = (text: string): string =>
  `\n${text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n")}\n`

const examples = readdirSync("examples", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => flat(readFileSync(join("examples", name), "utf8")))

/** Do these pieces stand in the text, each whole, one after the other? What is between them may be left out. */
const holds = (text: string, [piece, ...others]: ReadonlyArray<string>): boolean => {
  if (piece === undefined) return true
  const start = text.indexOf(piece)
  return start >= 0 && holds(text.slice(start + piece.length - 1), others)
}

/** Runs the command in a shell as far as it understands its arguments; rejects when it does not. */
const parse = (line: string) =>
  run(
    "sh",
    ["-c", `a2c() { "$NODE" --import ./test/fixtures/parsedOnly.ts src/main/cli/a2c.ts "$@"; }\n${line}`],
    {
      env: { NODE: process.execPath }
    }
  )

const rejection = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "it was understood",
    ({ stderr }: { readonly stderr: string }) => stderr
  )

describe("the code of the README", () => {
  const programs = blocks("ts")

  it("is found", () => assert.isAbove(programs.length, 0))

  for (const program of programs) {
    it(`stands in an example: ${program.split("\n", 1)[0]}`, () => {
      const pieces = program.split(/\n\s*\n/).map(flat)
      assert.isTrue(
        examples.some((example) => holds(example, pieces)),
        `no example has\n${program}`
      )
    })
  }
})

describe("the commands of the README", () => {
  const typed = blocks("sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line.startsWith("a2c "))
    // What a command would write to a file is not wanted here.
    .map((line) => line.replace(/ > \S+/, " > /dev/null"))
  /** What configurations have started: lists of plain words. */
  const started = [...readme.matchAll(/"command": "a2c", "args": \[([^\]]*)\]/g)].map(
    ([, words = ""]) => `a2c ${words.replaceAll(",", "")}`
  )
  const lines = [...typed, ...started]

  it("are found", () => assert.isTrue(typed.length > 0 && started.length > 0))

  for (const line of lines)
    it(`are understood: ${line.replace(/\s+#.*/, "")}`, { timeout: 60_000 }, () => parse(line))

  it("are not understood when they are wrong", { timeout: 60_000 }, async () => {
    assert.include(await rejection(parse("a2c agent --office team mcp --tools some")), "--tools")
    assert.include(await rejection(parse("a2c agent --office team mpc")), "mpc")
    assert.include(await rejection(parse("a2c server --prot 1")), "--prot")
  })
})

describe("the configurations of the README", () => {
  for (const config of blocks("json")) {
    it(`are read: ${config.split("\n", 2).join("")}`, { timeout: 60_000 }, async () => {
      const folder = await mkdtemp(join(tmpdir(), "a2c-readme-"))
      try {
        const file = join(folder, "mcp.json")
        await writeFile(file, config)
        await run(process.execPath, ["src/main/cli/a2c.ts", "computer", "check", file])
      } finally {
        await rm(folder, { recursive: true })
      }
    })
  }
})
