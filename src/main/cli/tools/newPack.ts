import { Effect, FileSystem, Path, Result } from "effect"
import { parsePackName } from "../../../domain/packs/packNames.ts"
import { failCommand } from "../../CommandFailed.ts"
import { print } from "../output/print.ts"
import type { NewPackOptions } from "./flags.ts"

const toolTemplate = (
  name: string,
  className: string
) => `/** A working tool: change it as needed. A pack needs no imports. */
export class ${className} {
  getRouteConfig() {
    return {
      endpoint: "/tools/${name}",
      params: {
        type: "object",
        properties: {
          text: { type: "string", description: "The text" },
          loud: { type: "boolean", description: "Answer in capitals", default: false }
        },
        required: ["text"]
      }
    }
  }

  listTools() {
    return [{ name: "${name}", description: "Counts the characters and words of a text" }]
  }

  callTool(_name: string, { text, loud = false }: { text: string; loud?: boolean }) {
    const words = text.split(/\\s+/u).filter((word) => word !== "").length
    const said = \`\${[...text].length} characters, \${words} words\`
    return loud ? said.toUpperCase() : said
  }
}
`

const testTemplate = (name: string, className: string) => `import assert from "node:assert/strict"
import { test } from "node:test"
import { ${className} } from "./${name}_tool.ts"

test("counts characters and words", () => {
  const tool = new ${className}()
  assert.equal(tool.callTool("${name}", { text: "hello there" }), "11 characters, 2 words")
})
`

const configTemplate = (name: string) => `enabled: true
description: "Counts characters and words"
usage: "${name}: text (the text), loud (answer in capitals, default false)"
packages: []
`

/** Writes a working pack into a folder of packs and gives its folder. An existing folder is never overwritten. */
export const writePack = Effect.fnUntraced(function* ({ dir, name }: NewPackOptions) {
  const { exists, makeDirectory, writeFileString } = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const read = parsePackName(name)
  if (Result.isFailure(read)) return yield* failCommand(`A pack cannot be named '${name}': ${read.failure}`)
  const { className, warnings } = read.success
  const [warning] = warnings
  if (warning !== undefined) return yield* failCommand(`A pack should not be named '${name}': ${warning}`)
  const folder = join(dir, name)
  if (yield* exists(folder)) return yield* failCommand(`${folder} exists already`)
  yield* makeDirectory(folder, { recursive: true })
  yield* writeFileString(join(folder, `${name}_tool.ts`), toolTemplate(name, className))
  yield* writeFileString(join(folder, `${name}_tool.test.ts`), testTemplate(name, className))
  yield* writeFileString(join(folder, "config.yaml"), configTemplate(name))
  return folder
})

/** Writes a pack and prints the next steps. */
export const newPack = Effect.fnUntraced(function* ({ dir, name }: NewPackOptions) {
  const { join } = yield* Path.Path
  const folder = yield* writePack({ dir, name })
  yield* print(
    [
      `wrote ${folder}`,
      "",
      `  node --test ${join(folder, `${name}_tool.test.ts`)}`,
      `  a2c tools call ${name} --dir ${dir} --args '{"text": "hello there"}'`,
      `  a2c tools serve ${dir}`
    ].join("\n")
  )
})
