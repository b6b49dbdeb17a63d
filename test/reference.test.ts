import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { generateReference, referenceFolder } from "../scripts/reference/generate.ts"

const read = (name: string): string => readFileSync(join(referenceFolder, name), "utf8")

const surface = (name: string): ReadonlyArray<string> =>
  readFileSync(join("test/surface", name), "utf8").trimEnd().split("\n")

/** The lines below each heading of a file of the surface. */
const sectionsOf = (name: string): ReadonlyArray<readonly [heading: string, lines: ReadonlyArray<string>]> => {
  const lines = surface(name)
  return lines.flatMap((heading, at) => {
    if (heading.startsWith(" ")) return []
    const rest = lines.slice(at + 1)
    const end = rest.findIndex((line) => !line.startsWith(" "))
    return [[heading, (end < 0 ? rest : rest.slice(0, end)).map((line) => line.trim())] as const]
  })
}

const chapter = (text: string, heading: string): string =>
  `${text}\n## `.split(`\n## ${heading}\n`, 2)[1]?.split("\n## ", 1)[0] ?? ""

const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join("src", name), "utf8"))

/** All first groups of the pattern in the sources. */
const found = (pattern: RegExp): ReadonlyArray<string> =>
  sources.flatMap((text) => [...text.matchAll(pattern)].map(([, word = ""]) => word))

/** Asserts that none of at least `min` things is missing. */
const assertComplete = (things: ReadonlyArray<string>, min: number, isListed: (thing: string) => boolean): void => {
  assert.isAtLeast(things.length, min)
  assert.deepStrictEqual(
    things.filter((thing) => !isListed(thing)),
    []
  )
}

describe("reference", () => {
  it("equals what the code gives; npm run reference writes it", async () => {
    const generated = await generateReference()
    assert.deepStrictEqual(readdirSync(referenceFolder).sort(), [...generated.keys()].sort())
    for (const [name, text] of generated) assert.strictEqual(read(name), text, `${name} is out of date`)
  })

  it("lists every command with every flag", () => {
    const commands = read("commands.md")
    const things = sectionsOf("settings.txt")
      .filter(([heading]) => heading.startsWith("a2c"))
      .flatMap(([command, flags]) => flags.map((flag) => `${command}: ${flag.split(" ", 1)[0]}`))
    assertComplete(things, 200, (thing) => {
      const [command = "", flag = ""] = thing.split(": ")
      const section = chapter(commands, command === "a2c" ? "Flags of every command" : command)
      const isInherited = new RegExp(`^Flags of the command above it: .*\`${flag}\``, "m").test(section)
      return isInherited || new RegExp(`^\\| (?:\`-\\w\`, )?\`${flag}[ \`]`, "m").test(section)
    })
  })

  it("lists every environment variable", () => {
    const variables = sectionsOf("settings.txt").find(([heading]) => heading === "environment variables")?.[1] ?? []
    const folders = found(/"(XDG_\w+|NODE_USE_\w+)"/g)
    assertComplete([...variables, ...folders], 80, (name) => read("variables.md").includes(`\n| \`${name}\` |`))
  })

  it("lists every metric with its labels", () => {
    assertComplete(surface("metrics.txt"), 30, (line) => {
      const [, name = "", labels = ""] = /^(\w+)\{(.*)\}/.exec(line) ?? []
      const row = new RegExp(`^\\| \`${name}\` .*`, "m").exec(read("metrics.md"))?.[0] ?? ""
      return row !== "" && labels.split(",").every((label) => label === "" || row.includes(`\`${label}\``))
    })
  })

  it("lists every error code and error tag", () => {
    const errors = read("errors.md")
    const [tags = [], codes = []] = sectionsOf("errors.txt").map(([, lines]) => lines)
    assertComplete(codes, 30, (line) => errors.includes(`\n| ${line.replace(/ (\w+)$/, " | `$1`")} |`))
    assertComplete(tags, 50, (tag) => errors.includes(`\n| [\`${tag}\`]`))
  })

  it("lists every event", () => {
    const events = read("events.md")
    const literal = found(/"((?:client|server|notify):\w+)"/g)
    const updates = found(/defineUpdate\("\w+", "(\w+)"\)/g).flatMap((name) => [`server:${name}`, `notify:${name}`])
    assert.isAtLeast(updates.length, 10)
    assertComplete([...literal, ...updates], 30, (event) => events.includes(`\`${event}\``))
  })

  it("lists every log message", () => {
    const literal = found(/\bEffect\.log(?:Debug|Info|Warning|Error)\(\s*"([^"]+)"/g)
    assertComplete(literal, 100, (message) => read("log-messages.md").includes(`\n| \`${message}\` |`))
  })

  it("lists every exported name at its entry point", () => {
    const exported = read("exports.md")
    const things = sectionsOf("exports.txt").flatMap(([entry, names]) => names.map((name) => `${entry}: ${name}`))
    assertComplete(things, 400, (thing) => {
      const [entry = "", name = ""] = thing.split(": ")
      const start = `\n| [\`${name.replace(/^type /, "")}`
      return chapter(exported, entry).includes(name.endsWith(".*") ? start.replace("*", "") : `${start}\`]`)
    })
  })
})
