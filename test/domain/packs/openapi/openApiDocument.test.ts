import { assert, describe, it } from "@effect/vitest"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Effect, Schema } from "effect"
import { z } from "zod"
import { isJsonObject, type JsonObject } from "../../../../src/domain/json.ts"
import type { PackRoute } from "../../../../src/domain/packs/PackManifest.ts"
import { type OpenApiPack, makeOpenApiDocument } from "../../../../src/domain/packs/openapi/openApiDocument.ts"
import { fileParamsOf, resolveRef } from "../../../../src/domain/schemas/jsonSchema.ts"

const object = (properties: JsonObject, more: object = {}) => ({ type: "object", properties, ...more })
const text = object({ text: { type: "string" } }, { required: ["text"] })
const route = (endpoint: string, params: JsonObject = text, more: Partial<PackRoute> = {}): PackRoute => ({
  endpoint,
  tool: "tool",
  useForm: false,
  params,
  files: fileParamsOf(params),
  ...more
})
const pack = (routes: ReadonlyArray<PackRoute>, more: Partial<OpenApiPack> = {}): OpenApiPack => ({
  name: "pack",
  description: "",
  usage: "",
  tools: [],
  routes,
  ...more
})
const open = { version: "1.2.3", requiresKey: false }
const hostWithKey = { ...open, requiresKey: true }

/** Resolves a pointer in a document, through references. */
const at = (document: JsonObject, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((node, key) => {
    const value = isJsonObject(node) && Object.hasOwn(node, key) ? node[key] : undefined
    const reference = isJsonObject(value) ? value["$ref"] : undefined
    return typeof reference === "string" ? resolveRef(document, reference) : value
  }, document)
const operation = (document: JsonObject, endpoint: string, ...path: ReadonlyArray<string>) =>
  at(document, "paths", endpoint, "post", ...path)
const operationIds = (document: JsonObject) =>
  Object.values(Object(document["paths"])).map((item) => at(Object(Object.values(Object(item))[0]), "operationId"))

/** Shared: the validator compiles its schemas only once. */
const validator = new Validator()

/** Errors of an OpenAPI validator for the serialized document. */
const errorsOf = (document: JsonObject) =>
  Effect.map(
    Effect.promise(() => validator.validate(JSON.parse(JSON.stringify(document)))),
    ({ errors = [], valid }) => (valid ? [] : errors)
  )
const assertValid = (document: JsonObject) =>
  Effect.map(errorsOf(document), (errors) => assert.deepStrictEqual(errors, []))

const file = { type: "string", format: "binary" }
const many = { type: "array", items: file }
const zodParams = z.object({
  a: z.string().optional(),
  f: z.file(),
  get b() {
    return z.array(z.number())
  }
})
const effectParams = Schema.Struct({ a: Schema.optionalKey(Schema.Int) })
const jsonSchema = ["requestBody", "content", "application/json", "schema"]

describe("valid document", () => {
  it.effect("fails validation when it has an error", () =>
    Effect.gen(function* () {
      const document = makeOpenApiDocument(open, [pack([route("/a")])])
      assert.isNotEmpty(yield* errorsOf({ ...document, info: {} }))
      assert.isNotEmpty(yield* errorsOf({ ...document, components: {} }))
    })
  )

  it.effect.each([
    ["no packs", []],
    ["a pack without routes", [pack([])]],
    ["routes", [pack([route("/tools/a"), route("/b/c", object({}))])]],
    [
      "a pack and endpoint of any characters",
      [pack([route("/%E5%B7%A5-._~!$&'()+,;=@")], { name: "文本 <b>/~{x}\n" })]
    ],
    [
      "a pack called like a member of objects",
      [pack([route("/__proto__"), route("/constructor")], { name: "__proto__" })]
    ],
    ["definitions", [pack([route("/a", object({ a: { $ref: "#/$defs/A[x/y]" } }, { $defs: { "A[x/y]": text } }))])]],
    [
      "old definitions",
      [pack([route("/a", object({ a: { $ref: "#/definitions/A" } }, { definitions: { A: text } }))])]
    ],
    [
      "a schema that is a reference",
      [pack([route("/a", { $ref: "#/$defs/N", $defs: { N: object({ n: { $ref: "#/$defs/N" } }) } })])]
    ],
    ["a schema that holds itself", [pack([route("/a", object({ n: { $ref: "#" } }))])]],
    ["references to nothing", [pack([route("/a", object({ n: { $ref: "#/$defs/N" }, m: { $ref: "other.json" } }))])]],
    [
      "the same names in two packs",
      [pack([route("/a", { ...text, $id: "urn:x" })]), pack([route("/b", { ...text, $id: "urn:x" })])]
    ],
    ["the same endpoint and pack twice", [pack([route("/a")]), pack([route("/a")])]],
    ["zod's schemas", [pack([route("/a", { ...z.toJSONSchema(zodParams) }, { useForm: true })])]],
    ["Effect's schemas", [pack([route("/a", { ...Schema.toJsonSchemaDocument(effectParams).schema })])]],
    ["forms", [pack([route("/a", object({ f: many }), { useForm: true }), route("/b", text, { useForm: true })])]]
  ] as const)("passes validation for %s", ([_title, packs]) =>
    Effect.gen(function* () {
      yield* assertValid(makeOpenApiDocument(open, packs))
      yield* assertValid(makeOpenApiDocument({ ...hostWithKey, url: "https://tools.example.org" }, packs))
    })
  )

  it.effect.prop(
    "passes validation for any pack",
    [Schema.String, Schema.Record(Schema.String, Schema.Json), Schema.Array(Schema.String)],
    ([name, json, names]) =>
      assertValid(
        makeOpenApiDocument(hostWithKey, [
          pack(
            names.map((one) => route(`/${encodeURIComponent(one.toWellFormed())}`, json)),
            { name, usage: name }
          )
        ])
      )
  )
})

describe("document content", () => {
  it("contains the execution of each endpoint, with its parameters as payload", () => {
    const definitions = object({ a: { $ref: "#/$defs/A" } }, { $defs: { A: text } })
    const document = makeOpenApiDocument(open, [
      pack([route("/tools/a", definitions), route("/tools/f", object({ f: file }), { requiresSession: true })])
    ])
    const execution = (endpoint: string, ...path: ReadonlyArray<string>) =>
      operation(document, `${endpoint}/execute`, ...jsonSchema, ...path)
    assert.strictEqual(operation(document, "/tools/a/execute", "operationId"), "a_execute")
    assert.deepStrictEqual(execution("/tools/a", "properties", "payload", "properties", "a"), text)
    assert.deepStrictEqual(execution("/tools/a", "required"), ["task", "payload"])
    assert.include(execution("/tools/a", "properties", "task", "required"), "user_id")
    assert.deepStrictEqual(execution("/tools/f", "required"), ["task", "payload", "session"])
  })

  it("contains parameters with their definitions", () => {
    const params = object({ level: { $ref: "#/$defs/Level" } }, { $defs: { Level: { enum: [1, 2] } } })
    const document = makeOpenApiDocument(open, [pack([route("/a", params)])])
    assert.deepStrictEqual(operation(document, "/a", ...jsonSchema, "properties", "level"), { enum: [1, 2] })
  })

  it("resolves recursive parameters", () => {
    const document = makeOpenApiDocument(open, [pack([route("/a", object({ next: { $ref: "#" } }))])])
    assert.strictEqual(
      operation(document, "/a", ...jsonSchema, "properties", "next"),
      operation(document, "/a", ...jsonSchema)
    )
  })

  it("declares files as binary form fields", () => {
    const file = {
      anyOf: [{ type: "string", contentMediaType: "image/png" }, { type: "null" }],
      description: "A file"
    }
    const params = object({ file, level: { type: "string" } }, { required: ["file"] })
    const document = makeOpenApiDocument(open, [pack([route("/a", params, { useForm: true })])])
    const content = operation(document, "/a", "requestBody", "content")
    assert.deepStrictEqual(Object.keys(Object(content)), ["multipart/form-data"])
    assert.deepStrictEqual(operation(document, "/a", "requestBody", "content", "multipart/form-data", "schema"), {
      type: "object",
      required: ["file"],
      properties: {
        file: { type: "string", format: "binary", description: "A file" },
        level: { type: "string" }
      }
    })
  })

  it("describes routes by their tools, and tags by packs", () => {
    const described = pack([route("/a", text, { tool: "x" }), route("/b")], {
      description: "What it is",
      usage: "How to use it",
      tools: [{ name: "x", title: "An X", description: "Does x" }]
    })
    const document = makeOpenApiDocument(open, [described])
    assert.deepStrictEqual(document["tags"], [{ name: "pack", description: "What it is\n\nHow to use it" }])
    const textsOf = (endpoint: string) => ["summary", "description"].map((key) => operation(document, endpoint, key))
    assert.deepStrictEqual(textsOf("/a"), ["An X", "Does x"])
    assert.deepStrictEqual(textsOf("/b"), ["tool", "What it is"])
  })

  it("requires a key only when the server does", () => {
    const packs = [pack([route("/a")])]
    const statuses = (document: JsonObject) => Object.keys(Object(operation(document, "/a", "responses")))
    const [withKey, without] = [makeOpenApiDocument(hostWithKey, packs), makeOpenApiDocument(open, packs)]
    const expected = [200, 401, 404, 413, 415, 422, 500, 504].map(String)
    assert.includeMembers(statuses(withKey), expected)
    assert.notInclude(statuses(without), "401")
    assert.isDefined(operation(withKey, "/a", "security"))
    assert.isDefined(at(withKey, "paths", "/tools", "get", "security"))
    assert.isUndefined(at(withKey, "paths", "/health", "get", "security"))
    assert.isUndefined(operation(without, "/a", "security"))
  })

  it("declares where clients send the key, when the server requires one", () => {
    const schemesOf = (host: typeof open) => at(makeOpenApiDocument(host, []), "components", "securitySchemes")
    assert.hasAllKeys(schemesOf(hostWithKey), ["apiKey", "bearer"])
    assert.isUndefined(schemesOf(open))
    const toolStatuses = (host: typeof open) =>
      Object.keys(Object(at(makeOpenApiDocument(host, []), "paths", "/tools", "get", "responses")))
    assert.deepStrictEqual([toolStatuses(hostWithKey), toolStatuses(open)], [["200", "401"], ["200"]])
  })

  it("describes the pages of the server itself", () => {
    const document = makeOpenApiDocument(open, [])
    const schemaOf = (path: string) =>
      at(document, "paths", path, "get", "responses", "200", "content", "application/json", "schema", "properties")
    const idOf = (path: string) => at(document, "paths", path, "get", "operationId")
    assert.deepStrictEqual(["/", "/health", "/tools"].map(idOf), ["getServerInfo", "getHealth", "listTools"])
    assert.hasAllKeys(schemaOf("/"), ["message", "version", "tools_count"])
    assert.hasAllKeys(schemaOf("/health"), ["status"])
    assert.hasAllKeys(schemaOf("/tools"), ["tools", "packs"])
  })

  it("describes parameters without a type as an object", () => {
    const document = makeOpenApiDocument(open, [pack([route("/a", { properties: {} })])])
    assert.strictEqual(operation(document, "/a", ...jsonSchema, "type"), "object")
  })

  it("names the base URL only when it is known", () => {
    const url = "https://tools.example.org"
    assert.deepStrictEqual(makeOpenApiDocument({ ...open, url }, [])["servers"], [{ url }])
    assert.notProperty(makeOpenApiDocument(open, []), "servers")
  })

  it("describes a pack by the texts that it has, each once", () => {
    const tagOf = (description: string, usage: string) =>
      makeOpenApiDocument(open, [pack([], { description, usage })])["tags"]
    assert.deepStrictEqual(tagOf(" a ", "a"), [{ name: "pack", description: "a" }])
    assert.deepStrictEqual(tagOf("", "b"), [{ name: "pack", description: "b" }])
    assert.deepStrictEqual(tagOf("", " "), [{ name: "pack" }])
  })

  it("accepts a form without files in both encodings, and files in one", () => {
    const document = makeOpenApiDocument(open, [
      pack([
        route("/text", text, { useForm: true }),
        route("/files", object({ file, many }), { useForm: true }),
        route("/json", object({ file }), { useForm: false })
      ])
    ])
    const typesOf = (endpoint: string) => Object.keys(Object(operation(document, endpoint, "requestBody", "content")))
    assert.deepStrictEqual(typesOf("/text"), ["multipart/form-data", "application/x-www-form-urlencoded"])
    assert.deepStrictEqual(typesOf("/files"), ["multipart/form-data"])
    assert.deepStrictEqual(typesOf("/json"), ["application/json"])
    const properties = (endpoint: string, type: string) =>
      operation(document, endpoint, "requestBody", "content", type, "schema", "properties")
    assert.deepStrictEqual(properties("/files", "multipart/form-data"), { file, many })
    assert.isTrue(operation(document, "/text", "requestBody", "required"))
  })

  it("assigns an endpoint to the first pack", () => {
    const document = makeOpenApiDocument(open, [pack([route("/a")]), pack([route("/a")], { name: "late" })])
    assert.deepStrictEqual(operation(document, "/a", "tags"), ["pack"])
  })

  it("names operations by their path", () => {
    const document = makeOpenApiDocument(open, [
      pack([route("/tools/video/generate"), route("/fetch"), route("/tools/text_counter")])
    ])
    assert.deepStrictEqual(operationIds(document).slice(3, 6), ["video_generate", "fetch", "text_counter"])
  })

  it("adds a hash to duplicate and reserved operation ids", () => {
    const endpoints = ["/tools/a/b", "/tools/a_b", "/a_b", "/listTools", "/x", "/tools/文"]
    const ids = operationIds(makeOpenApiDocument(open, [pack(endpoints.map((endpoint) => route(endpoint)))]))
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const id of ids) assert.match(String(id), /^[A-Za-z0-9_-]{1,64}$/)
    assert.include(ids, "x")
  })
})
