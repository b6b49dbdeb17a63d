import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)
const readme = readFileSync("README.md", "utf8")

/** Blocks of a language in the README. */
const blocks = (language: string): ReadonlyArray<string> =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block)

/** Trims lines, since their indentation depends on the surrounding program. */
const flat = (text: string): string =>
  `\n${text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n")}\n`

const examples = readdirSync("examples", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => flat(readFileSync(join("examples", name), "utf8")))

/** True when the text contains these pieces in order, each completely; other text may be in between. */
const holds = (text: string, [piece, ...others]: ReadonlyArray<string>): boolean => {
  if (piece === undefined) return true
  const start = text.indexOf(piece)
  return start >= 0 && holds(text.slice(start + piece.length - 1), others)
}

/** Runs the command in a shell up to the parsing of its arguments; rejects when that fails. */
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

describe("code of the README", () => {
  const programs = blocks("ts")

  it("contains blocks", () => assert.isAbove(programs.length, 0))

  for (const program of programs) {
    it(`is part of an example: ${program.split("\n", 1)[0]}`, () => {
      const pieces = program.split(/\n\s*\n/).map(flat)
      assert.isTrue(
        examples.some((example) => holds(example, pieces)),
        `no example has\n${program}`
      )
    })
  }
})

describe("commands of the README", () => {
  const typed = blocks("sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line.startsWith("a2c "))
    // Redirections to files are removed.
    .map((line) => line.replace(/ > \S+/, " > /dev/null"))
  /** Programs in configurations, as lists of plain words. */
  const started = [...readme.matchAll(/"command": "a2c", "args": \[([^\]]*)\]/g)].map(
    ([, words = ""]) => `a2c ${words.replaceAll(",", "")}`
  )
  const lines = [...typed, ...started]

  it("contains commands", () => assert.isTrue(typed.length > 0 && started.length > 0))

  for (const line of lines)
    it(`parses: ${line.replace(/\s+#.*/, "")}`, { timeout: 60_000 }, () => parse(line))

  it("rejects invalid commands", { timeout: 60_000 }, async () => {
    assert.include(await rejection(parse("a2c agent --office team mcp --tools some")), "--tools")
    assert.include(await rejection(parse("a2c agent --office team mpc")), "mpc")
    assert.include(await rejection(parse("a2c server --prot 1")), "--prot")
  })
})

describe("configurations of the README", () => {
  for (const config of blocks("json")) {
    it(`parses: ${config.split("\n", 2).join("")}`, { timeout: 60_000 }, async () => {
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
