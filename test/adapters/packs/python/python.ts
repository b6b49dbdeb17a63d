import { execFileSync } from "node:child_process"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Result } from "effect"
import { describe } from "vitest"
import * as NpmInstaller from "../../../../src/adapters/packs/install/NpmInstaller.ts"
import * as PythonInstaller from "../../../../src/adapters/packs/install/PythonInstaller.ts"
import { PackInstaller } from "../../../../src/application/ports/packs/PackInstaller.ts"
import type { PackSource } from "../../../../src/application/ports/packs/PackLoader.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { load, sourceOf, write } from "../packs.ts"

/** The cache of a user in tests. */
export const cache = join(import.meta.dirname, "../../../../node_modules/.cache")

/** The environments of test packs; later runs reuse them. */
const environments = join(cache, "a2c-smcp/python")

const hasPython = Result.isSuccess(
  Result.try(() =>
    execFileSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"], { stdio: "ignore" })
  )
)
if (!hasPython) process.stderr.write("tests of Python packs are skipped: there is no Python 3.10 or later\n")

/** Groups tests that need Python. */
export const describePython = describe.skipIf(!hasPython)

export const installerLayer = (options: Partial<PythonInstaller.PythonOptions> = {}) =>
  PythonInstaller.layer({ environments, ...options }).pipe(
    Layer.provide(NpmInstaller.layer()),
    Layer.provide(NodeServices.layer)
  )

/** The interpreter of an environment with the base packages. */
export const interpreter = PackInstaller.use(({ install }) =>
  install({ folder: environments, language: "python", packages: [] }, () => Effect.void)
).pipe(
  Effect.map(({ interpreter: path }) => ({ interpreter: path ?? "python3" })),
  Effect.provide(installerLayer())
)

const pythonSource = (folder: string, more: Partial<PackSource> = {}): Effect.Effect<PackSource> =>
  Effect.map(Effect.orDie(interpreter), (installed) =>
    sourceOf(folder, "pack_tool.py", {
      language: "python",
      className: "PackTool",
      isolated: true,
      memory: 512,
      ...installed,
      ...more
    })
  )

/** Loads a Python pack from the text of its file. */
export const loadPython = Effect.fnUntraced(function* (text: string, more: Partial<PackSource> = {}) {
  const folder = join(yield* temporaryFolder, "pack")
  yield* write(folder, { "__init__.py": "from .pack_tool import *\n", "pack_tool.py": text })
  return yield* load(yield* pythonSource(folder, more))
})

/** Lines of a block of a class or function. */
const indented = (text: string, spaces: number): string => text.trim().replaceAll("\n", `\n${" ".repeat(spaces)}`)

/** The text of a pack with a class `PackTool`, whose parts can be replaced. */
export const pythonPack = ({
  call = "return [TextContent(type='text', text=arguments['text'])]",
  def = "async def",
  more = "pass",
  params = "text: str",
  route = "{'endpoint': '/tools/pack', 'params_class': Params}",
  top = ""
}: { readonly [part in "call" | "def" | "more" | "params" | "route" | "top"]?: string } = {}): string => `
import asyncio, os, sys, time
from typing import Optional
from fastapi import UploadFile
from mcp.shared.exceptions import McpError
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND, ErrorData, ImageContent, TextContent, Tool
from pydantic import BaseModel, Field
from app.base_tool import BaseMCPTool
${top}
class Params(BaseModel):
    ${indented(params, 4)}

class PackTool(BaseMCPTool):
    def __init__(self):
        super().__init__()
        ${indented(more, 8)}
    def get_route_config(self):
        return ${route}
    async def list_tools(self):
        return [Tool(name="pack", description="A pack", inputSchema=Params.model_json_schema())]
    ${def} call_tool(self, name, arguments):
        ${indented(call, 8)}
`
