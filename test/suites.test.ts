import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { formatRow, suites } from "../scripts/suites.ts"

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as {
  readonly scripts: { readonly [name: string]: string }
}

/** The suites that a workflow runs side by side. */
const namesIn = (workflow: string): ReadonlyArray<string> => {
  const [, names = ""] = /suite: \[(.*)\]/.exec(readFileSync(`.github/workflows/${workflow}`, "utf8")) ?? []
  return names.split(", ")
}

const namesOf = (runs: string): ReadonlyArray<string> =>
  suites.filter((suite) => suite.runs === runs).map(({ name }) => name)

describe("the table of suites", () => {
  it("stands in CONTRIBUTING.md", () => {
    assert.include(readFileSync("CONTRIBUTING.md", "utf8"), `\n${suites.map(formatRow).join("\n")}\n`)
  })

  it("names scripts of the project", () => {
    for (const { command } of suites) {
      for (const [, name = ""] of command.matchAll(/npm run ([\w:-]+)/g)) assert.property(scripts, name)
    }
  })

  it("names what the workflows run for each change and each night", () => {
    assert.sameOrderedMembers([...namesIn("ci.yml")], [...namesOf("ci")])
    assert.sameOrderedMembers([...namesIn("nightly.yml")], [...namesOf("nightly")])
  })
})

describe("the package", () => {
  it.each(["preinstall", "install", "postinstall", "prepare"])(
    "has no script %s, about which npm warns the users of the package",
    (script) => assert.notProperty(scripts, script)
  )
})
