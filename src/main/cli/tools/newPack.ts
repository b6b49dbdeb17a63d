import { Effect, FileSystem, Path } from "effect"
import { parsePackName } from "../../../domain/packs/packNames.ts"
import { failCommand, requireSuccess } from "../../CommandFailed.ts"
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

const pythonTemplate = (name: string, className: string) => `"""A working tool: change it as needed."""

from typing import Sequence

from mcp.types import TextContent, Tool
from pydantic import BaseModel, Field

from app.base_tool import BaseMCPTool


class Params(BaseModel):
    text: str = Field(description="The text")
    loud: bool = Field(default=False, description="Answer in capitals")


class ${className}(BaseMCPTool):
    def get_route_config(self) -> list[dict]:
        return [{"endpoint": "/tools/${name}", "params_class": Params}]

    async def list_tools(self) -> list[Tool]:
        return [
            Tool(
                name="${name}",
                description="Counts the characters and words of a text",
                inputSchema=Params.model_json_schema(),
            )
        ]

    async def call_tool(self, name: str, arguments: dict) -> Sequence[TextContent]:
        params = Params(**arguments)
        said = f"{len(params.text)} characters, {len(params.text.split())} words"
        return [TextContent(type="text", text=said.upper() if params.loud else said)]
`

const pythonTestTemplate = (name: string) => `"""Calls the tool as its host does; A2C is the command."""

import json
import os
import pathlib
import subprocess
import unittest

A2C = os.environ.get("A2C", "npx -y a2c-cli").split()
PACKS = pathlib.Path(__file__).parent.parent


class Test(unittest.TestCase):
    def test_counts_characters_and_words(self):
        given = json.dumps({"text": "hello there"})
        command = [*A2C, "tools", "call", "${name}", "--dir", str(PACKS), "--args", given]
        called = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(called.stdout.strip(), "11 characters, 2 words", called.stderr)


if __name__ == "__main__":
    unittest.main()
`

/** The files of a pack beside its configuration, and how to test it. */
const filesOf = (name: string, className: string, python: boolean) => {
  const test = python ? `test_${name}.py` : `${name}_tool.test.ts`
  const files = python
    ? {
        "__init__.py": `from .${name}_tool import ${className}\n\n__all__ = ["${className}"]\n`,
        [`${name}_tool.py`]: pythonTemplate(name, className),
        [test]: pythonTestTemplate(name)
      }
    : {
        [`${name}_tool.ts`]: toolTemplate(name, className),
        [test]: testTemplate(name, className),
        // The folder of packs may be in a package of CommonJS modules.
        "package.json": '{ "type": "module" }\n'
      }
  return { test, files, runTest: python ? "python3" : "node --test" }
}

const configTemplate = (name: string) => `enabled: true
description: "Counts characters and words"
usage: "${name}: text (the text), loud (answer in capitals, default false)"
packages: []
`

/** Writes a working pack into a folder of packs and gives its folder and the command of its test. An existing folder is never overwritten. */
export const writePack = Effect.fnUntraced(function* ({ dir, name, python }: NewPackOptions) {
  const { exists, makeDirectory, writeFileString } = yield* FileSystem.FileSystem
  const { join } = yield* Path.Path
  const { className, warnings } = yield* requireSuccess(
    parsePackName(name),
    (reason) => `A pack cannot be named '${name}': ${reason}`
  )
  const [warning] = warnings
  if (warning !== undefined) return yield* failCommand(`A pack should not be named '${name}': ${warning}`)
  const folder = join(dir, name)
  if (yield* exists(folder)) return yield* failCommand(`${folder} exists already`)
  yield* makeDirectory(folder, { recursive: true })
  const { files, runTest, test } = filesOf(name, className, python)
  yield* Effect.forEach(
    Object.entries({ ...files, "config.yaml": configTemplate(name) }),
    ([file, text]) => writeFileString(join(folder, file), text),
    { discard: true }
  )
  return { folder, runTest: `${runTest} ${join(folder, test)}` }
})

export const newPack = Effect.fnUntraced(function* (options: NewPackOptions) {
  const { dir, name } = options
  const { folder, runTest } = yield* writePack(options)
  yield* print(
    [
      `wrote ${folder}`,
      "",
      `  ${runTest}`,
      `  a2c tools call ${name} --dir ${dir} --args '{"text": "hello there"}'`,
      `  a2c tools serve ${dir}`
    ].join("\n")
  )
})
