import { execFile } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"

const run = promisify(execFile)
const readme = readFileSync("README.md", "utf8")

/** The code blocks of a language in the README. */
const blocks = (language: string): ReadonlyArray<string> =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, block = ""]) => block)

/** Removes the indentation, which depends on the position in a program. */
const unindented = (text: string): string =>
  `\n${text
    .trim()
    .split("\n")
    .map((line) => line.trim())
    .join("\n")}\n`

const examples = readdirSync("examples", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => unindented(readFileSync(join("examples", name), "utf8")))

/** Returns whether a text contains all pieces in this order; it may contain more in between. */
const holds = (text: string, [piece, ...others]: ReadonlyArray<string>): boolean => {
  if (piece === undefined) return true
  const start = text.indexOf(piece)
  return start >= 0 && holds(text.slice(start + piece.length - 1), others)
}

/** Runs a command line in a shell up to its parsed arguments; rejects when they are invalid. */
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
    () => "the arguments are valid",
    ({ stderr }: { readonly stderr: string }) => stderr
  )

describe("README code", () => {
  const programs = blocks("ts")

  it("contains code blocks", () => assert.isAbove(programs.length, 0))

  for (const program of programs) {
    it(`matches an example: ${program.split("\n", 1)[0]}`, () => {
      const pieces = program.split(/\n\s*\n/).map(unindented)
      assert.isTrue(
        examples.some((example) => holds(example, pieces)),
        `no example has\n${program}`
      )
    })
  }
})

describe("README command", () => {
  const typed = blocks("sh")
    .flatMap((block) => block.split("\n"))
    .filter((line) => line.startsWith("a2c "))
    // No test writes the output files.
    .map((line) => line.replace(/ > \S+/, " > /dev/null"))
  /** The commands of MCP configurations: lists of plain words. */
  const configured = [...readme.matchAll(/"command": "a2c", "args": \[([^\]]*)\]/g)].map(
    ([, words = ""]) => `a2c ${words.replaceAll(",", "")}`
  )
  const lines = [...typed, ...configured]

  it("occurs in blocks and configurations", () => assert.isTrue(typed.length > 0 && configured.length > 0))

  for (const line of lines)
    it(`parses: ${line.replace(/\s+#.*/, "")}`, { timeout: 60_000 }, () => parse(line))

  it("fails to parse with a wrong argument", { timeout: 60_000 }, async () => {
    assert.include(await rejection(parse("a2c agent --office team mcp --tools some")), "--tools")
    assert.include(await rejection(parse("a2c agent --office team mpc")), "mpc")
    assert.include(await rejection(parse("a2c server --prot 1")), "--prot")
  })
})

describe("README configuration", () => {
  for (const config of blocks("json")) {
    it(`passes the check: ${config.split("\n", 2).join("")}`, { timeout: 60_000 }, async () => {
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
