import { spawn } from "node:child_process"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { serveTools } from "../../../../src/adapters/packs/http/ToolServer.ts"
import { PackHost } from "../../../../src/application/packs/PackHost.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { packHostWith } from "./host.ts"
import { describePython, interpreter } from "./python.ts"

const fixtures = join(import.meta.dirname, "../../../fixtures/packs/python")
const runner = join(import.meta.dirname, "../../../../src/adapters/packs/python/runner")

/** Starts the application with FastAPI, and gives its URL. */
const startReference = Effect.gen(function* () {
  const { interpreter: python } = yield* interpreter
  const packs = ["src/text_counter", "src/file_analyzer", "more/everything"].map((pack) => join(fixtures, pack))
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(python, ["-B", join(fixtures, "reference.py"), runner, ...packs], { stdio: ["ignore", "ignore", "pipe"] })
    ),
    (started) => Effect.sync(() => started.kill("SIGKILL"))
  )
  return yield* Effect.callback<string>((resume) => {
    let output = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      output += text
      const url = /running on (http:\/\/[\d.:]+)/.exec(output)?.[1]
      if (url !== undefined) resume(Effect.succeed(url))
    })
  })
})

const startOurs = Effect.gen(function* () {
  yield* PackHost.use(({ rescan }) => rescan)
  return (yield* serveTools({ port: 0, key: "allowAll" })).url
})

const json = (path: string, body: unknown) => ({
  path,
  init: {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body)
  }
})

const form = (path: string, fields: Record<string, string | File>) => {
  const body = new FormData()
  for (const [name, value] of Object.entries(fields)) body.append(name, value)
  return { path, init: { method: "POST", body } }
}

const everything = (more: JsonObject = {}) => json("/tools/everything", { name: "abc", ...more })
const text = (name: string, content: string) => new File([content], name, { type: "text/plain" })

/** Requests whose responses are equal. */
const requests = [
  json("/tools/text_counter", { text: "hi there" }),
  json("/tools/text_counter", { text: "你好 wörld 😀" }),
  json("/tools/text_counter", { text: "" }),
  json("/tools/text_counter", {}),
  json("/tools/text_counter", { text: 7 }),
  json("/tools/text_counter", { text: null }),
  json("/tools/text_counter", { text: "a", other: 1 }),
  json("/tools/text_counter", { text: ["a"] }),
  everything(),
  everything({ name: "a" }),
  everything({ name: "A" }),
  everything({ name: "a".repeat(21) }),
  everything({ count: 5 }),
  everything({ count: 0 }),
  everything({ count: 100 }),
  everything({ count: "7" }),
  everything({ count: 1.5 }),
  everything({ count: "x" }),
  everything({ ratio: 2 }),
  everything({ ratio: "0.25" }),
  everything({ flag: true }),
  everything({ flag: "yes" }),
  everything({ flag: "perhaps" }),
  everything({ url: "https://example.org/a?b=1" }),
  everything({ url: "no url" }),
  everything({ tags: ["a", "b"] }),
  everything({ tags: [1] }),
  everything({ tags: "a" }),
  everything({ inner: { depth: 2 } }),
  everything({ inner: { depth: 4 } }),
  everything({ inner: {} }),
  everything({ extra: { a: 1 } }),
  everything({ extra: { a: "b" } }),
  everything({ color: "blue" }),
  everything({ color: "green" }),
  everything({ mode: "slow" }),
  everything({ mode: "medium", count: 0 }),
  form("/tools/form", { name: "abc" }),
  form("/tools/form", { name: "abc", count: "3", ratio: "0.25", flag: "true", mode: "slow", note: "n" }),
  form("/tools/form", { name: "abc", flag: "off" }),
  form("/tools/file_analyzer", { file: text("a.txt", "héllo"), detail_level: "detailed" }),
  form("/tools/file_analyzer", { file: text("empty.txt", "") }),
  form("/tools/file_analyzer", { detail_level: "basic" })
]

/** What clients read of a reply: the content, or the problems by place, text and kind. */
const comparable = ({ body, status }: { readonly status: number; readonly body: JsonObject }) => {
  const { detail } = body
  if (!Array.isArray(detail)) return { status, body }
  const problems = detail.map((one: unknown) => {
    const { loc, msg, type } = asObject(one)
    return { loc, msg, type }
  })
  return { status, problems }
}

const send = (url: string, { init, path }: (typeof requests)[number]) =>
  Effect.promise(async () => {
    const response = await fetch(`${url}${path}`, init)
    return comparable({ status: response.status, body: asObject(await response.json()) })
  })

/** The parameters of each route in an OpenAPI document: their names, and the required ones. */
const routesOf = (url: string) =>
  Effect.promise(async () => {
    const document = asObject(await (await fetch(`${url}/openapi.json`)).json())
    const resolve = (schema: unknown): JsonObject => {
      const { $ref } = asObject(schema)
      if (typeof $ref !== "string") return asObject(schema)
      const found = $ref
        .split("/")
        .slice(1)
        .reduce<JsonObject>((node, key) => asObject(node[key]), document)
      return found
    }
    return Object.fromEntries(
      Object.entries(asObject(document["paths"])).flatMap(([path, operations]) => {
        const { content } = asObject(asObject(asObject(operations)["post"])["requestBody"])
        const [media] = Object.entries(asObject(content))
        // Executions are newer than these rules.
        if (media === undefined || !/^\/tools\/[^/]+$/.test(path)) return []
        const [type, { schema }] = [media[0], asObject(media[1])]
        const { properties, required } = resolve(schema)
        return [
          [
            path,
            {
              kind: type === "application/json" ? "json" : "form",
              names: Object.keys(asObject(properties)).toSorted(),
              required
            }
          ]
        ]
      })
    )
  })

describePython("host of Python packs beside FastAPI", () => {
  it.live("replies as the rules of the seed say", () =>
    Effect.gen(function* () {
      const [reference, ours] = yield* Effect.all([startReference, startOurs])
      for (const one of requests) {
        const [expected, got] = yield* Effect.all([send(reference, one), send(ours, one)], { concurrency: 2 })
        const shown = `${one.path} ${typeof one.init.body === "string" ? one.init.body : JSON.stringify([...one.init.body])}`
        assert.deepStrictEqual([shown, got], [shown, expected])
      }
      assert.isAtLeast(requests.length, 40)
      assert.deepStrictEqual(yield* routesOf(ours), yield* routesOf(reference))
    }).pipe(Effect.provide(packHostWith([join(fixtures, "src"), join(fixtures, "more")])), Effect.scoped)
  )
})
