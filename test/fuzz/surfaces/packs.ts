import * as library from "@cfworker/json-schema"
import { Cause, Effect, Exit, Option, Result } from "effect"
import { makeInterpreter } from "../../../src/adapters/jsonSchema/interpretSchema.ts"
import { startPack } from "../../../src/adapters/packs/PackRuntime.ts"
import { makePackTable, type PackView } from "../../../src/application/packs/PackTable.ts"
import { PackError, type LoadedPack, type PackSource } from "../../../src/application/ports/packs/PackLoader.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import { decodePackConfig } from "../../../src/domain/packs/packConfig.ts"
import { parseEmbeddedFile } from "../../../src/domain/packs/params/embeddedFile.ts"
import { makeOpenApiDocument } from "../../../src/domain/packs/openapi/openApiDocument.ts"
import { fillDefaults, coerceForm } from "../../../src/domain/packs/params/coerceParams.ts"
import { revive, strangeWords } from "./strange.ts"
import { valueIn } from "./textIn.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"

const source: PackSource = {
  language: "node",
  name: "pack",
  folder: "/packs/pack",
  file: "/packs/pack/pack_tool.ts",
  className: "T",
  version: "1",
  config: {},
  isolated: false,
  memory: 64
}

/** The exports and behaviour of a pack module, defined by the input. */
const moduleOf = (body: JsonObject) => ({
  T: class {
    [name: string]: unknown
    constructor() {
      if ("instance" in body) return Object(revive(body["instance"]))
    }
    getRouteConfig() {
      return revive(body["routes"])
    }
    listTools() {
      return revive(body["tools"])
    }
    callTool() {
      if ("throws" in body) throw revive(body["throws"])
      return revive(body["result"])
    }
  }
})

const view: PackView = {
  name: "pack",
  path: "/packs/pack",
  description: "",
  usage: "",
  status: { _tag: "Ready", tools: [], routes: [], warnings: [] }
}

/** Checks that the definitions of a pack are JSON. */
const checkManifest = ({ manifest }: Pick<LoadedPack, "manifest">): void => {
  const loaded: LoadedPack = { manifest, call: () => Effect.succeed({}), exited: Effect.never }
  const running = { loaded, call: () => Effect.succeed({}), drain: Effect.void }
  const table = makePackTable([{ view, running }])
  for (const { definition } of table.tools.values()) must(isJsonObject(definition), "a tool is not an object")
  must(
    [...table.routes.keys()].every((endpoint) => URL.parse(`http://x${endpoint}`)?.pathname === endpoint),
    "a route has an unreachable path"
  )
  const described = {
    name: "pack",
    description: "",
    usage: "",
    routes: manifest.routes,
    tools: manifest.tools
  }
  const document = makeOpenApiDocument({ version: "1", requiresKey: true }, [described])
  must(
    typeof JSON.stringify([document, manifest, [...table.tools.values()].map(({ definition }) => definition)]) ===
      "string",
    ""
  )
}

const isFailure = (error: unknown): boolean => error instanceof PackError

const endOf = (exit: Exit.Exit<unknown, unknown>): Verdict => {
  if (Exit.isSuccess(exit)) return "accepted"
  const failure = Cause.findErrorOption(exit.cause)
  if (Option.isSome(failure) && isFailure(failure.value)) return "refused"
  throw new Error(`not a pack failure: ${Cause.pretty(exit.cause)}`)
}

const makeFeed = () => {
  const compile = makeInterpreter(library)
  const packRuntime = { enter: <A>(code: () => A): A => code(), compile, log: () => undefined }
  return (input: Buffer): Verdict | Promise<Verdict> => {
    const value = valueIn(input)
    const body = isJsonObject(value) ? value : {}
    const config = decodePackConfig(body["config"])
    if (Result.isFailure(config)) must(config.failure !== "", "an error has no message")
    parseEmbeddedFile(body["params"])
    const params = isJsonObject(body["params"]) ? body["params"] : {}
    const schema = isJsonObject(body["schema"]) ? body["schema"] : {}
    const read = fillDefaults(schema, coerceForm(schema, params))
    must(isJsonObject(read), "parameters are not an object")
    const playing = Effect.gen(function* () {
      const { call, manifest } = yield* startPack(moduleOf(body), source, packRuntime)
      checkManifest({ manifest })
      const tools = [...manifest.tools.map((tool) => String(tool["name"])), "pack"]
      for (const tool of tools.slice(0, 2)) {
        const result = yield* call({ tool, params, form: body["form"] === true, files: {} })
        must(Array.isArray(result["content"]), "a result without content")
        must(typeof JSON.stringify(result) === "string", "a result is not JSON")
      }
    })
    return Effect.runPromiseExit(Effect.scoped(playing)).then(endOf)
  }
}

const params = {
  type: "object",
  properties: {
    text: { type: "string", default: "x" },
    count: { type: "integer", minimum: 1 },
    flag: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    list: { type: "array", items: { $ref: "#/$defs/Level" } },
    file: { type: "string", format: "binary" }
  },
  required: ["text"],
  $defs: { Level: { enum: ["a", "b", 3] } }
}

const plain = { type: "object", properties: { a: { type: "number" } } }

const declared: ReadonlyArray<unknown> = [
  {
    routes: [{ endpoint: "/tools/pack", params, useForm: true, toolName: "pack" }],
    tools: [{ name: "pack", description: "does it", inputSchema: params, annotations: { readOnlyHint: true } }],
    params: { text: "a", count: "3", flag: "", list: ["a"], file: "data:text/plain;base64,aGk=" },
    schema: params,
    form: true,
    result: { content: [{ type: "text", text: "hi" }], structuredContent: { a: 1 } },
    config: { enabled: true, description: "d", packages: ["zod@4"], timeout: 3, memory: 64, concurrency: 2 }
  },
  {
    routes: { endpoint: "/tools/pack", params_class: plain, use_form: false },
    tools: [{ name: "pack", input_schema: plain }, { name: "b" }],
    params: { a: 1 },
    schema: plain,
    result: "text"
  },
  { routes: [], tools: [{ name: "pack" }], params: {}, result: [{ type: "image", data: "", mimeType: "i/p" }] },
  { routes: [], tools: [{ name: "pack" }], params: {}, throws: { message: "no", code: -32602, _tag: "Bad" } },
  {
    routes: [{ endpoint: "/a/%41", params: { $ref: "#/$defs/X", $defs: { X: plain } } }],
    tools: [{ name: "pack", inputSchema: { $ref: "#/$defs/X", $defs: { X: plain } } }],
    params: { a: 2 },
    schema: { $ref: "#/$defs/X", $defs: { X: plain } },
    result: { a: 1 }
  },
  { routes: "!promise", tools: "!effect", result: "!date" },
  { routes: [], tools: [{ name: "pack", inputSchema: "!standard" }], result: ["!bigint", "!circular"] },
  { routes: [], tools: [{ name: "pack" }], throws: "!getters" },
  { instance: "!proxy" },
  { instance: { getRouteConfig: "!function", listTools: "!function", callTool: "!getters" } }
]

/** The declarations, results and exceptions of packs. */
export const packSurface: Surface = {
  name: "packs",
  about: "declarations, arguments, results and exceptions of packs",
  weight: 3,
  lanes: 1,
  corpus: declared.map((one) => Buffer.from(JSON.stringify(one))),
  words: [
    strangeWords.map((word) => JSON.stringify(word)),
    ['"throws":"!getters",', '"instance":"!getters",'],
    ['"$ref":"#/$defs/%ZZ",', '"$ref":"#",', '"type":"string",', '"default":[],'],
    ['"pattern":"[",', '"format":"binary",', '"endpoint":"/\\ud800",', '"toolName":"b",'],
    ['"then":1,', '"__proto__":{},'],
    ["null", ",", "{", "}"]
  ].flat(),
  longest: 8192,
  open: () => Effect.sync(() => ({ ...pure(() => "refused"), feed: makeFeed() }))
}
