import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Array, Context, Effect, Layer } from "effect"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { write } from "../packs.ts"
import { packHostWith, served } from "./host.ts"
import { describePython } from "./python.ts"

/** The imports that the document names, all of them. */
const imports = `
from app.base_tool import BaseMCPTool
from mcp.types import (
    Tool,
    TextContent,
    ImageContent,
    EmbeddedResource,
    INVALID_PARAMS,
    INTERNAL_ERROR,
    ErrorData,
)
from mcp.shared.exceptions import McpError
from pydantic import BaseModel, Field, AnyUrl
from typing import Sequence
from fastapi import UploadFile
from loguru import logger
`

/** The text of a tool after the template of the document: the class, its routes, its parameters and its work. */
const tool = (
  name: string,
  {
    base = "(BaseMCPTool)",
    call = "return [TextContent(type='text', text=name)]",
    className = `${name
      .split("_")
      .map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`)
      .join("")}Tool`,
    params = "text: str = Field(default='', description='A text')",
    routes = `[{"endpoint": "/tools/${name}", "params_class": Params}]`,
    tools = `Tool(name="${name}", description="The tool ${name}", inputSchema=Params.model_json_schema())`
  }: { readonly [part in "base" | "call" | "className" | "params" | "routes" | "tools"]?: string } = {}
): { readonly [file: string]: string } => ({
  [`${name}/__init__.py`]: `from .${name}_tool import ${className}\n\n__all__ = ["${className}"]\n`,
  [`${name}/${name}_tool.py`]: `${imports}
class Params(BaseModel):
    ${params.replaceAll("\n", "\n    ")}

class ${className}${base}:
    def __init__(self):
        super().__init__()

    def get_route_config(self) -> list[dict]:
        return ${routes}

    async def list_tools(self) -> list[Tool]:
        return [${tools}]

    async def call_tool(
        self,
        name: str,
        arguments: dict,
    ) -> Sequence[TextContent | ImageContent | EmbeddedResource]:
        ${call.replaceAll("\n", "\n        ")}
`
})

/** The parameters of the document's example, with a field of each type that it names. */
const fetchParams = `url: AnyUrl = Field(description="URL to fetch")
max_length: int = Field(default=5000, description="Maximum number of characters to return.", gt=0, lt=1000000)
start_index: int = Field(default=0, description="Starting character index for output.", ge=0)
raw: bool = Field(default=False, description="Get raw HTML without simplification.")
ratio: float = 0.5
tags: list = []
extra: dict = {}
title: str = "none"`

/** The standard implementation of a call. */
const standardCall = `if name != "standard":
    raise ValueError(f"Unknown tool: {name}")
try:
    args = Params(**arguments)
except ValueError as e:
    raise McpError(ErrorData(code=INVALID_PARAMS, message=str(e)))
try:
    result = 10 // int(args.text)
except Exception as e:
    raise McpError(ErrorData(code=INTERNAL_ERROR, message=f"Failed to execute: {e}"))
return [TextContent(type="text", text=str(result))]`

const manyRoutes = `[
            {"endpoint": "/tools/video/generate", "params_class": Params, "tool_name": "video_generate"},
            {"endpoint": "/tools/video/subtitle", "params_class": Params, "tool_name": "video_subtitle"},
        ]`

/** The folder `app/src` of an installation: packs by the rules of the document, and one for each way to break them. */
const packs = {
  ...tool("fetch", {
    params: fetchParams,
    call: "return [TextContent(type='text', text=Params(**arguments).model_dump_json())]"
  }),
  ...tool("polish", { routes: '[{"endpoint": "/tools/polish", "params_class": Params, "use_form": True}]' }),
  ...tool("video_generate", {
    routes: manyRoutes,
    tools: "*[Tool(name=n, description=n, inputSchema={}) for n in ('video_generate', 'video_subtitle')]"
  }),
  ...tool("sm_auth", { routes: '{"endpoint": "/tools/sm_auth", "params_class": Params}' }),
  ...tool("standard", { call: standardCall }),
  ...tool("other_name", {
    routes: '[{"endpoint": "/tools/other_name", "params_class": Params, "tool_name": "unheard_of"}]',
    call: 'if name != "other_name":\n    raise ValueError(f"Unknown tool: {name}")'
  }),
  ...tool("rejects", { call: "raise McpError(ErrorData(code=INVALID_PARAMS, message='not so'))" }),
  ...tool("logs", { call: "logger.info('a message of the tool')\nreturn []" }),
  ...tool("without_form", { params: "file: UploadFile" }),
  ...tool("described"),
  "described/config.yaml":
    'enabled: true\ndescription: "工具的简要描述"\nusage: "使用说明和参数说明"\npackages: []  # 不需要额外依赖\n',
  ...tool("disabled"),
  "disabled/config.yaml": "enabled: false\n",
  ...tool("wrong_version"),
  "wrong_version/config.yaml": 'packages:\n  - "package1=version"\n',
  "no_package/no_package_tool.py": tool("no_package")["no_package/no_package_tool.py"] ?? "",
  "no_tool/__init__.py": "",
  "no_tool/other.py": "",
  ...tool("wrong_class", { className: "Wrongclass" }),
  ...tool("no_base", { base: "" }),
  ...tool("no_method", { className: "NoMethodTool" }),
  "no_method/no_method_tool.py": `${imports}\nclass NoMethodTool(BaseMCPTool):\n    pass\n`,
  ...tool("no_slash", { routes: '[{"endpoint": "tools/no_slash", "params_class": Params}]' }),
  ...tool("no_model", { routes: '[{"endpoint": "/tools/no_model", "params_class": dict}]' }),
  ...tool("taken", { routes: '[{"endpoint": "/tools/fetch", "params_class": Params}]' })
}

const makeInstallation = Effect.gen(function* () {
  const world = yield* served
  const { body } = yield* world.request("/tools", {})
  const listed = (key: string) => body[key] as ReadonlyArray<JsonObject>
  /** The state, the reason and the warnings of a pack. */
  const stateOf = (name: string) => {
    const { reason, status, warnings = [] } = listed("packs").find((pack) => pack["name"] === name) ?? {}
    return [status, reason ?? (warnings as ReadonlyArray<string>)[0]]
  }
  return { ...world, packs: listed("packs"), stateOf, tools: listed("tools") }
})

class Installation extends Context.Service<Installation, Effect.Success<typeof makeInstallation>>()("Installation") {
  static readonly layer = Layer.effect(this, makeInstallation).pipe(
    Layer.provide(
      Layer.unwrap(
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          yield* write(join(folder, "src"), packs)
          yield* write(join(folder, "AutoUp-MCP-Extension"), tool("extension"))
          return packHostWith([join(folder, "src"), join(folder, "AutoUp-MCP-Extension")])
        })
      )
    )
  )
}

const text = (value: string) => ({ status: 200, body: { content: [{ type: "text", text: value }] } })

/** A pack that the document calls wrong, and what its state is here. */
const wrong: ReadonlyArray<readonly [name: string, status: string, reason: RegExp]> = [
  ["no_package", "failed", /^its folder has no '__init__\.py', which makes it a Python package$/],
  ["no_tool", "failed", /^its folder has no 'no_tool_tool\.ts', .* or 'no_tool_tool\.py'$/],
  ["wrong_class", "failed", /^class 'WrongClassTool' not found in wrong_class_tool\.py, which has Params, Wrongclass$/],
  ["no_method", "failed", /Can't instantiate abstract class NoMethodTool with abstract methods call_tool, get_route/],
  ["no_slash", "ready", /^route 1 \(tools\/no_slash\): the endpoint must start with '\/'/],
  [
    "no_model",
    "failed",
    /^params_class of the route \/tools\/no_model must be a model of Pydantic, not <class 'dict'>$/
  ],
  ["taken", "ready", /^route \/tools\/fetch is ignored: it belongs to the pack 'fetch'$/],
  [
    "wrong_version",
    "failed",
    /^its packages cannot be installed: 'package1=version': '=version' is no version or range/
  ]
]

const names = ["fetch", "polish", "video_generate", "sm_auth"]

describePython("document of the tool packs", () => {
  layer(Installation.layer, { excludeTestServices: true })((it) => {
    it.effect("finds the packs of the four examples of names, with their classes", () =>
      Installation.use(({ stateOf }) =>
        Effect.sync(() =>
          assert.deepStrictEqual(
            names.map(stateOf),
            Array.makeBy(4, () => ["ready", undefined])
          )
        )
      )
    )

    it.effect("finds the packs of the folder of extensions", () =>
      Installation.use(({ post }) =>
        Effect.map(post("/tools/extension", {}), (reply) => assert.deepStrictEqual(reply, text("extension")))
      )
    )

    it.effect("calls the tool named like its folder, unless the route names another", () =>
      Effect.gen(function* () {
        const { post } = yield* Installation
        assert.deepStrictEqual(yield* post("/tools/sm_auth", {}), text("sm_auth"))
        assert.deepStrictEqual(yield* post("/tools/video/generate", {}), text("video_generate"))
        assert.deepStrictEqual(yield* post("/tools/video/subtitle", {}), text("video_subtitle"))
      })
    )

    it.effect("takes a form where the route says so, and JSON elsewhere", () =>
      Effect.gen(function* () {
        const { post, upload } = yield* Installation
        assert.deepStrictEqual(yield* upload("/tools/polish", [["text", "a"]]), text("polish"))
        assert.deepStrictEqual(yield* post("/tools/fetch", []).pipe(Effect.map(({ status }) => status)), 422)
        assert.strictEqual((yield* upload("/tools/fetch", [["url", "http://a"]])).status, 415)
      })
    )

    it.effect("takes a form where a parameter is a file, even if the route does not say so", () =>
      Effect.gen(function* () {
        const { upload } = yield* Installation
        const file = new File(["a"], "a.txt")
        assert.deepStrictEqual(yield* upload("/tools/without_form", [["file", file]]), text("without_form"))
      })
    )

    it.effect("fills in the defaults of every type of field", () =>
      Effect.gen(function* () {
        const { post } = yield* Installation
        const { body, status } = yield* post("/tools/fetch", { url: "https://example.com", tags: [1], extra: { a: 1 } })
        assert.strictEqual(status, 200)
        const [{ text: filled } = { text: "" }] = body["content"] as ReadonlyArray<{ readonly text: string }>
        assert.deepStrictEqual(JSON.parse(filled), {
          url: "https://example.com/",
          max_length: 5000,
          start_index: 0,
          raw: false,
          ratio: 0.5,
          tags: [1],
          extra: { a: 1 },
          title: "none"
        })
      })
    )

    for (const [bounds, field, value] of [
      ["gt", "max_length", 0],
      ["lt", "max_length", 1_000_000],
      ["ge", "start_index", -1],
      ["the type of a URL", "url", "no url"],
      ["the type of a list", "tags", "a"],
      ["the type of a dict", "extra", 1],
      ["the type of a float", "ratio", "x"],
      ["the type of a bool", "raw", "x"],
      ["the type of a str", "title", 1]
    ] as const) {
      it.effect(`rejects a parameter that breaks ${bounds}`, () =>
        Effect.gen(function* () {
          const { post } = yield* Installation
          const { body, status } = yield* post("/tools/fetch", { url: "https://example.com", [field]: value })
          const [{ loc } = { loc: [] }] = body["detail"] as ReadonlyArray<{ readonly loc: unknown }>
          assert.deepStrictEqual([status, loc], [422, ["body", field]])
        })
      )
    }

    it.effect("lists the schema, the constraints and the descriptions of parameters", () =>
      Effect.gen(function* () {
        const { tools } = yield* Installation
        const { inputSchema } = tools.find(({ name }) => name === "fetch") ?? {}
        const properties = asObject(asObject(inputSchema)["properties"])
        assert.deepStrictEqual(properties["max_length"], {
          default: 5000,
          description: "Maximum number of characters to return.",
          exclusiveMaximum: 1_000_000,
          exclusiveMinimum: 0,
          title: "Max Length",
          type: "integer"
        })
      })
    )

    it.effect("replies as the standard implementation says", () =>
      Effect.gen(function* () {
        const { host, post } = yield* Installation
        assert.deepStrictEqual(yield* post("/tools/standard", { text: "2" }), text("5"))
        assert.deepStrictEqual(yield* post("/tools/standard", { text: "x" }), {
          status: 500,
          body: { detail: "Failed to execute: invalid literal for int() with base 10: 'x'" }
        })
        assert.deepStrictEqual(yield* post("/tools/other_name", {}), {
          status: 500,
          body: { detail: "Unknown tool: unheard_of" }
        })
        assert.deepStrictEqual(yield* host.session.callTool("standard", { text: "2" }), text("5").body)
      })
    )

    it.effect("rejects parameters with the error of INVALID_PARAMS", () =>
      Effect.gen(function* () {
        const { post } = yield* Installation
        const { body, status } = yield* post("/tools/rejects", {})
        assert.deepStrictEqual(
          [status, body],
          [422, { detail: [{ loc: ["body"], msg: "not so", type: "value_error" }] }]
        )
      })
    )

    it.effect("accepts every import that the document names, loguru's logger among them", () =>
      Installation.use(({ post }) =>
        Effect.map(post("/tools/logs", {}), (reply) =>
          assert.deepStrictEqual(reply, { status: 200, body: { content: [] } })
        )
      )
    )

    it.effect("has the description and the usage of config.yaml", () =>
      Effect.gen(function* () {
        const { packs: all } = yield* Installation
        const { description, usage } = all.find(({ name }) => name === "described") ?? {}
        assert.deepStrictEqual([description, usage], ["工具的简要描述", "使用说明和参数说明"])
      })
    )

    it.effect("respects enabled: false", () =>
      Installation.use(({ stateOf }) =>
        Effect.sync(() => assert.deepStrictEqual(stateOf("disabled"), ["disabled", undefined]))
      )
    )

    it.effect("needs the methods of the base class, not the base class", () =>
      Installation.use(({ post }) =>
        Effect.map(post("/tools/no_base", {}), (reply) => assert.deepStrictEqual(reply, text("no_base")))
      )
    )

    for (const [name, status, reason] of wrong) {
      it.effect(`tells what is wrong with the pack ${name}, and serves the others`, () =>
        Installation.use(({ stateOf }) =>
          Effect.sync(() => {
            const [got, why] = stateOf(name)
            assert.strictEqual(got, status)
            assert.match(String(why), reason)
          })
        )
      )
    }

    it.effect("requires the key of the server", () =>
      Effect.gen(function* () {
        const { request } = yield* Installation
        const { body, status } = yield* request("/tools/sm_auth", { method: "POST", headers: { "X-API-Key": "guess" } })
        assert.deepStrictEqual([status, body], [401, { detail: "Invalid API key" }])
      })
    )
  })
})
