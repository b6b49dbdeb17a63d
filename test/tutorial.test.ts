import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { commandsOf, documentSteps, sectionOf } from "../scripts/tutorial/documentSteps.ts"

const read = (file: string): string => readFileSync(file, "utf8")
const machines = ["laptop", "nas", "desk"]
const blocksOf = (markdown: string) =>
  documentSteps(markdown, machines).map(({ file, kind, machine, text }) => ({ file, kind, machine, text }))

describe("the tutorial", () => {
  it("calls a tool of another machine within five commands", () => {
    const commands = documentSteps(read("docs/tutorial.md"), machines)
      .filter(({ kind }) => kind === "commands")
      .flatMap(({ text }) => commandsOf(text))
      .filter((command) => command.startsWith("npx "))
    const call = commands.findIndex((command) => / agent .* call /.test(command))
    assert.isTrue(call >= 0 && call < 5, commands.join("\n"))
  })
})

describe("a Chinese page", () => {
  const pictureOf = (markdown: string) => [...markdown.matchAll(/^```mermaid\n.*?^```$/gms)].map(([picture]) => picture)

  for (const page of ["tutorial.md", "concepts.md"]) {
    it(`has the commands, files, outputs and pictures of docs/${page}`, () => {
      const [english, chinese] = [read(`docs/${page}`), read(`docs/zh/${page}`)]
      assert.deepStrictEqual(blocksOf(chinese), blocksOf(english))
      assert.deepStrictEqual(pictureOf(chinese), pictureOf(english))
    })
  }

  it("has the commands and files of the first section of the README", () => {
    const chinese = sectionOf(read("README.zh-CN.md"), "五分钟上手")
    assert.deepStrictEqual(blocksOf(chinese), blocksOf(sectionOf(read("README.md"), "Five minutes")))
  })
})
