import { createHash } from "node:crypto"
import { createServer } from "node:http"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { packHostWith, type Served, served } from "./host.ts"
import { describePython } from "./python.ts"

const fixtures = join(import.meta.dirname, "../../../fixtures/packs/python")

const live = (title: string, body: (world: Served) => Effect.Effect<void, unknown>) =>
  it.live(title, () =>
    Effect.flatMap(served, body).pipe(
      Effect.provide(packHostWith([join(fixtures, "src"), join(fixtures, "moved")])),
      Effect.scoped
    )
  )

const png = (name: string, size: number) => new File([Buffer.alloc(size, 7)], name, { type: "image/png" })

const robots = "User-agent: *\nDisallow: /private\n"

const text = (value: string) => ({ content: [{ type: "text", text: value }] })

describePython("host of the packs of the seed and of an installation", () => {
  live("lists them", ({ request }) =>
    Effect.gen(function* () {
      const { body, status } = yield* request("/tools", {})
      assert.strictEqual(status, 200)
      const tools = (body["tools"] as ReadonlyArray<JsonObject>).map(
        ({ description, name }) => `${String(name)}: ${String(description)}`
      )
      assert.sameMembers(tools, [
        "fetch: Fetches a page",
        "file_analyzer: 分析上传文件的内容",
        "flow_wait: Waits",
        "image_upload: Uploads",
        "text_counter: 统计文本的字符数和单词数"
      ])
    })
  )

  live("replies to the two requests of the seed", ({ post, upload }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* post("/tools/text_counter", { text: "hi there 你好" }), {
        status: 200,
        body: text("字符数: 11, 单词数: 3")
      })
      const file = new File(["héllo"], "file.txt", { type: "text/plain" })
      assert.deepStrictEqual(
        yield* upload("/tools/file_analyzer", [
          ["file", file],
          ["detail_level", "detailed"]
        ]),
        {
          status: 200,
          body: text("文件名: file.txt\n大小: 6 字节\n详细程度: detailed")
        }
      )
    })
  )

  live("calls over MCP as over HTTP, with files as data URLs", ({ host: { session } }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* session.callTool("text_counter", { text: "a b" }), text("字符数: 3, 单词数: 2"))
      const file = "data:text/plain;name=a.txt;base64,aGk="
      assert.deepStrictEqual(
        yield* session.callTool("file_analyzer", { file }),
        text("文件名: a.txt\n大小: 2 字节\n详细程度: basic")
      )
      const { items } = yield* session.listTools()
      const schema = asObject(items.find(({ name }) => name === "file_analyzer")?.["inputSchema"])
      assert.deepStrictEqual(schema["required"], ["file"])
      assert.strictEqual(asObject(asObject(schema["properties"])["file"])["description"], "要分析的文件")
    })
  )

  live("fetches a page", ({ post }) =>
    Effect.gen(function* () {
      const page = yield* Effect.acquireRelease(
        Effect.sync(() =>
          createServer(({ url }, response) => {
            response.statusCode = url === "/missing" ? 404 : 200
            response.end(url === "/robots.txt" ? robots : "<html><h1>Hello</h1> world</html>")
          }).listen(0, "127.0.0.1")
        ),
        (server) => Effect.sync(() => void server.close())
      )
      yield* Effect.callback<void>(
        (resume) => void (page.listening ? resume(Effect.void) : page.once("listening", () => resume(Effect.void)))
      )
      const address = page.address()
      const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`
      assert.deepStrictEqual(yield* post("/tools/fetch", { url }), { status: 200, body: text("Hello world") })
      assert.deepStrictEqual(yield* post("/tools/fetch", { url, start_index: 6, max_length: 3 }), {
        status: 200,
        body: text("wor")
      })
      assert.deepStrictEqual(yield* post("/tools/fetch", { url: `${url}/missing` }), {
        status: 500,
        body: { detail: `${url}/missing answered 404` }
      })
      // By a package of its config.yaml.
      assert.deepStrictEqual((yield* post("/tools/fetch", { url: `${url}/private/a` })).body, {
        detail: `robots.txt forbids ${url}/private/a`
      })
    }).pipe(Effect.scoped)
  )

  live("waits until the client has gone", ({ post }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* post("/tools/flow_wait", { seconds: 0.05 })).body, text("waited 0.05 seconds"))
      const waiting = yield* Effect.forkChild(post("/tools/flow_wait", { seconds: 3000 }))
      yield* Effect.sleep("300 millis")
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual((yield* post("/tools/flow_wait", { seconds: 0.01 })).status, 200)
    })
  )

  live("takes one file, an optional one and several, and replies with every kind of content", ({ upload }) =>
    Effect.gen(function* () {
      const size = 3 * 1024 * 1024
      const { body, status } = yield* upload("/tools/image_upload", [
        ["file", png("a.png", size)],
        ["others", png("b.png", 1)],
        ["others", png("c.png", 2)],
        ["title", "cat"]
      ])
      const digest = createHash("sha256").update(Buffer.alloc(size, 7)).digest("hex")
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(body["content"], [
        { type: "text", text: `cat: a.png ${size} None [b.png,c.png]` },
        { type: "image", data: Buffer.alloc(8, 7).toString("base64"), mimeType: "image/png" },
        { type: "resource", resource: { uri: "sha256://file", text: digest } }
      ])
      const preview = yield* upload("/tools/image_upload", [
        ["file", png("a.png", 1)],
        ["preview", png("p.png", 1)]
      ])
      assert.deepInclude(preview.body["content"], { type: "text", text: "untitled: a.png 1 p.png []" })
      const missing = yield* upload("/tools/image_upload", [["title", "cat"]])
      assert.deepStrictEqual(missing, {
        status: 422,
        body: { detail: [{ loc: ["body", "file"], msg: "Field required", type: "missing" }] }
      })
      const wrong = yield* upload("/tools/image_upload", [["file", new File(["a"], "a.txt", { type: "text/plain" })]])
      assert.deepStrictEqual(wrong, { status: 500, body: { detail: "a.txt is no PNG" } })
    })
  )
})
