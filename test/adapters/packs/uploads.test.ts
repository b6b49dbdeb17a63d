import { randomBytes } from "node:crypto"
import { readFileSync, statSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { dirname } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { request, asking, live, post, raw } from "./served.ts"

const mebibyte = 1024 * 1024

const form = (...entries: ReadonlyArray<readonly [string, string | File]>) => {
  const data = new FormData()
  for (const [name, value] of entries) data.append(name, value)
  return data
}

const upload = (url: string, data: FormData) => request(url, { method: "POST", body: data })

/** Keeps a call in flight until the test has inspected it. */
const hang = ["do", "hang"] as const

describe("multipart form", () => {
  live("contains texts, lists of texts, and files, which stay on disk during the call", {}, function* (world) {
    const bytes = randomBytes(3 * mebibyte)
    const client = yield* Effect.forkChild(
      upload(
        `${world.url}/tools/form`,
        form(
          hang,
          ["字", "値"],
          ["list", "1"],
          ["list", "2"],
          ["file", new File([bytes], "../../etc/a b.PNG", { type: "image/png" })],
          ["more", new File(["{}"], "one.json", { type: "application/json" })],
          ["more", new File([], "two", { type: "" })]
        )
      )
    )
    const { params, files, form: isForm } = yield* Queue.take(world.calls)
    assert.isTrue(isForm)
    assert.deepStrictEqual(params, { do: "hang", 字: "値", list: ["1", "2"] })
    const [file] = files["file"] ?? []
    assert.include(file, { filename: "a b.PNG", contentType: "image/png", size: bytes.byteLength })
    assert.match(file?.path ?? "", /\.PNG$/)
    assert.isTrue(readFileSync(file?.path ?? "").equals(bytes))
    assert.deepStrictEqual(
      files["more"]?.map(({ contentType, filename, size }) => [filename, contentType, size]),
      [
        ["one.json", "application/json", 2],
        ["two", "application/octet-stream", 0]
      ]
    )
    assert.strictEqual(statSync(dirname(file?.path ?? "")).mode & 0o777, 0o700)
    assert.strictEqual(statSync(file?.path ?? "").mode & 0o777, 0o600)
    yield* Deferred.succeed(world.release, undefined)
    assert.strictEqual((yield* Fiber.join(client)).status, 200)
    assert.deepStrictEqual(yield* world.uploads, [])
  })

  live("leaves no file after a failed call", {}, function* ({ calls, uploads, url }) {
    const { status } = yield* upload(`${url}/tools/form`, form(["do", "failed"], ["file", new File(["x"], "a")]))
    assert.strictEqual(status, 500)
    assert.strictEqual((yield* Queue.take(calls)).files["file"]?.length, 1)
    assert.deepStrictEqual(yield* uploads, [])
  })

  live("leaves no file after a defect", {}, function* ({ uploads, url }) {
    const data = form(["do", "die"], ["file", new File(["x"], "a")])
    assert.strictEqual((yield* upload(`${url}/tools/form`, data)).status, 500)
    assert.deepStrictEqual(yield* uploads, [])
  })

  live("leaves no file after its client disconnects during the call", {}, function* (world) {
    const client = yield* asking(`${world.url}/tools/form`, {
      method: "POST",
      body: form(hang, ["file", new File(["x"], "a")])
    })
    yield* Queue.take(world.calls)
    assert.strictEqual((yield* world.uploads).length, 2)
    yield* Fiber.interrupt(client)
    yield* Deferred.await(world.interrupted)
    yield* Effect.repeat(world.uploads, { until: (left) => left.length === 0 })
  })

  live("leaves no file after its client disconnects during the upload", {}, function* (world) {
    const { port } = new URL(world.url)
    const socket = connect(Number(port))
    socket.write(
      "POST /tools/form HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
        "Content-Length: 100000\r\n\r\n" +
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nsome of it'
    )
    yield* Effect.repeat(world.uploads, { until: (there) => there.length === 2 })
    socket.destroy()
    yield* Effect.repeat(world.uploads, { until: (left) => left.length === 0 })
    assert.strictEqual(yield* Queue.size(world.calls), 0)
  })

  live("accepts an empty file input of a web page", {}, function* ({ calls, uploads, url }) {
    const data = form(["text", "a"], ["file", new File([], "")])
    assert.strictEqual((yield* upload(`${url}/tools/form`, data)).status, 200)
    assert.deepStrictEqual((yield* Queue.take(calls)).files, {})
    assert.deepStrictEqual(yield* uploads, [])
  })

  const emptyInput = (name: string) =>
    `Content-Disposition: form-data; name="${name}"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n`
  const textField = (name: string, text: string) => `Content-Disposition: form-data; name="${name}"\r\n\r\n${text}`
  const fileInput = (name: string, filename: string, text: string) =>
    `Content-Disposition: form-data; name="${name}"; filename="${filename}"\r\nContent-Type: text/plain\r\n\r\n${text}`

  for (const [browser, boundary] of [
    ["Chromium", "----WebKitFormBoundaryABCDEFGHIJKLMNOP"],
    ["Firefox", "-----------------------------9051914041544843365972754266"],
    ["Firefox 140", "----geckoformboundary7c1de7b4a3d9fd2a5fd1c77c1e0dfa0b"]
  ] as const) {
    const postForm = (url: string, ...parts: ReadonlyArray<string>) =>
      post(url, `${parts.map((part) => `--${boundary}\r\n${part}\r\n`).join("")}--${boundary}--\r\n`, {
        "Content-Type": `multipart/form-data; boundary=${boundary}`
      })
    for (const [title, parts, params, files] of [
      ["one empty file input", [emptyInput("file")], {}, {}],
      ["an empty input of several files", [emptyInput("more")], {}, {}],
      [
        "empty inputs between text fields",
        [textField("text", "a"), emptyInput("file"), textField("n", ""), emptyInput("more"), textField("z", "b")],
        { text: "a", n: "", z: "b" },
        {}
      ],
      ["a file beside an empty input", [emptyInput("file"), fileInput("more", "a.txt", "hi")], {}, { more: ["a.txt"] }],
      ["an empty file", [fileInput("file", "empty.txt", "")], {}, { file: ["empty.txt"] }],
      ["an empty file with the name of its input", [fileInput("file", "file", "")], {}, { file: ["file"] }],
      ["two files", [fileInput("more", "a", ""), fileInput("more", "b", "x")], {}, { more: ["a", "b"] }]
    ] as const) {
      live(`takes ${title} from ${browser}`, {}, function* ({ calls, uploads, url }) {
        assert.strictEqual((yield* postForm(`${url}/tools/form`, ...parts)).status, 200)
        const call = yield* Queue.take(calls)
        assert.deepStrictEqual(call.params, params)
        const names = Object.entries(call.files).map(([name, all]) => [name, all.map(({ filename }) => filename)])
        assert.deepStrictEqual(Object.fromEntries(names), files)
        assert.deepStrictEqual(yield* uploads, [])
      })
    }
  }

  for (const [what, entry, expected] of [
    ["a file for a parameter of another type", ["text", new File(["x"], "a")], "has no file parameter of this name"],
    ["two files for one parameter", ["file", new File(["x"], "b")], "accepts one file here"]
  ] as const) {
    live(`fails with ${what}`, {}, function* ({ uploads, url }) {
      const { body, status } = yield* upload(`${url}/tools/form`, form(["file", new File(["x"], "a")], entry))
      assert.strictEqual(status, 422)
      assert.include(JSON.stringify(body), `"loc":["body","${entry[0]}"]`)
      assert.include(JSON.stringify(body), expected)
      assert.deepStrictEqual(yield* uploads, [])
    })
  }

  for (const [what, body, expected] of [
    ["ends too early", '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1', "incomplete"],
    ["has parts without a name", "--b\r\nContent-Type: text/plain\r\n\r\n1\r\n--b--\r\n", "has no name"],
    [
      "has a part whose headers have no end",
      '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\r\n--b\r\n\r\n1\r\n--b--\r\n',
      "malformed"
    ],
    ["has malformed parts", "--b\r\nContent-Disposition: x y\r\n\r\n1\r\n--b--\r\n", "malformed"]
  ] as const) {
    live(`fails when it ${what}`, {}, function* ({ url }) {
      const answer = yield* post(`${url}/tools/form`, body, {
        "Content-Type": "multipart/form-data; boundary=b"
      })
      assert.strictEqual(answer.status, 400)
      assert.include(JSON.stringify(answer.body), expected)
    })
  }

  live("fails without a boundary", {}, function* ({ url }) {
    const answer = yield* post(`${url}/tools/form`, "x", { "Content-Type": "multipart/form-data" })
    assert.strictEqual(answer.status, 400)
  })

  live("ignores bytes after its end, and keeps the connection", {}, function* ({ url }) {
    const body = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\nmore'
    const request = (more: string) =>
      "POST /tools/form HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\n" +
      `Transfer-Encoding: chunked\r\n${more}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const both = yield* raw(url, request("") + request("Connection: close\r\n"))
    assert.match(both, /^HTTP\/1.1 200 .*HTTP\/1.1 200 /s)
  })

  live("accepts URL encoding when it has no files", {}, function* ({ calls, url }) {
    const body = new URLSearchParams([
      ["text", "字 &"],
      ["list", "1"],
      ["list", "2"]
    ])
    const { status } = yield* request(`${url}/tools/form`, { method: "POST", body })
    assert.strictEqual(status, 200)
    const { params, form: isForm } = yield* Queue.take(calls)
    assert.deepStrictEqual(params, { text: "字 &", list: ["1", "2"] })
    assert.isTrue(isForm)
  })

  live("accepts JSON when it requires no file", {}, function* ({ calls, url }) {
    assert.strictEqual((yield* post(`${url}/tools/form`, { n: 1 })).status, 200)
    const { params, form: isForm } = yield* Queue.take(calls)
    assert.deepStrictEqual(params, { n: 1 })
    assert.isFalse(isForm)
  })

  for (const type of ["application/json", "application/x-www-form-urlencoded", "text/plain"]) {
    live(`needs the required file, which excludes ${type}`, {}, function* ({ url }) {
      const { body, status } = yield* post(`${url}/tools/needs`, "{}", { "Content-Type": type })
      assert.strictEqual(status, 415)
      assert.include(JSON.stringify(body), "'file' is required")
    })
  }
})

describe("form limit", () => {
  const file = (size: number) => new File([Buffer.alloc(size)], "a")

  for (const [what, options, data, status] of [
    ["a file at the limit", { maxFileBytes: 100_000 }, () => form(["file", file(100_000)]), 200],
    ["a file above the limit", { maxFileBytes: 100_000 }, () => form(["file", file(100_001)]), 413],
    ["a file far above the limit", { maxFileBytes: 1000 }, () => form(["file", file(mebibyte)]), 413],
    ["a form above the limit", { maxFormBytes: 1000 }, () => form(["file", file(900)]), 413],
    ["16 files", {}, () => form(...Array.from({ length: 16 }, () => ["more", file(1)] as const)), 200],
    ["17 files", {}, () => form(...Array.from({ length: 17 }, () => ["more", file(1)] as const)), 413],
    ["256 fields", {}, () => form(...Array.from({ length: 256 }, () => ["a", ""] as const)), 200],
    ["257 fields", {}, () => form(...Array.from({ length: 257 }, () => ["a", ""] as const)), 413],
    ["a field of 1 MiB", {}, () => form(["a", "x".repeat(mebibyte)]), 200],
    ["a field above 1 MiB", {}, () => form(["a", "x".repeat(mebibyte + 1)]), 413],
    ["too much text", {}, () => form(...Array.from({ length: 9 }, () => ["a", "x".repeat(mebibyte)] as const)), 413]
  ] as const) {
    live(`answers ${status} to ${what}`, options, function* ({ calls, uploads, url }) {
      assert.strictEqual((yield* upload(`${url}/tools/form`, data())).status, status)
      assert.strictEqual(yield* Queue.size(calls), status === 200 ? 1 : 0)
      assert.deepStrictEqual(yield* uploads, [])
    })
  }

  live("applies to URL-encoded fields", {}, function* ({ url }) {
    const body = new URLSearchParams(Array.from({ length: 257 }, () => ["a", ""] as [string, string]))
    assert.strictEqual((yield* request(`${url}/tools/form`, { method: "POST", body })).status, 413)
  })

  live("answers 503 to a form beside 32 others", {}, function* (world) {
    yield* Effect.forEach(Array.from({ length: 32 }), () =>
      asking(`${world.url}/tools/form`, { method: "POST", body: form(hang) })
    )
    yield* Queue.takeN(world.calls, 32)
    const { headers, status } = yield* upload(`${world.url}/tools/form`, form(["a", ""]))
    assert.strictEqual(status, 503)
    assert.isTrue(headers.has("retry-after"))
    yield* Deferred.succeed(world.release, undefined)
  })
})

describe("upload of 1 GiB", () => {
  const size = 1024 * mebibyte
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'

  /** Sends with backpressure; returns the reply, and the number of bytes sent until then. */
  const pour = (url: string, headers: Record<string, string>) =>
    Effect.callback<{ readonly status: number; readonly sent: number }>((resume) => {
      const piece = Buffer.alloc(mebibyte)
      let sent = 0
      const request = httpRequest(`${url}/tools/form`, {
        method: "POST",
        headers: { "Content-Type": "multipart/form-data; boundary=b", ...headers }
      })
      const more = (): void => {
        while (sent < size && !request.destroyed) {
          sent += piece.byteLength
          if (!request.write(piece)) return void request.once("drain", more)
        }
      }
      request.on("response", ({ statusCode = 0 }) => {
        resume(Effect.succeed({ status: statusCode, sent }))
        request.destroy()
      })
      request.on("error", (error) => resume(Effect.die(error)))
      request.write(head)
      more()
      return Effect.sync(() => request.destroy())
    })

  /** Peak size of the folder during an effect, in bytes. */
  const peakDuring = Effect.fnUntraced(function* <A>(
    uploads: Effect.Effect<ReadonlyArray<string>>,
    sizeOf: (name: string) => number,
    effect: Effect.Effect<A>
  ) {
    let peak = 0
    const look = Effect.map(uploads, (names) => {
      peak = Math.max(
        peak,
        names.reduce((sum, name) => sum + sizeOf(name), 0)
      )
    })
    const watching = yield* Effect.forkChild(Effect.forever(Effect.delay(look, "2 millis")))
    const result = yield* effect
    yield* Fiber.interrupt(watching)
    return { peak, result }
  })

  for (const [how, headers, most] of [
    ["with its length", { "Content-Length": String(size) }, 16 * mebibyte],
    ["without its length", { "Transfer-Encoding": "chunked" }, 140 * mebibyte]
  ] as const) {
    live(`gets 413 ${how}, before it is sent or stored completely`, {}, function* ({ calls, folder, uploads, url }) {
      const { peak, result } = yield* peakDuring(
        uploads,
        (name) => statSync(`${folder}/${name}`, { throwIfNoEntry: false })?.size ?? 0,
        pour(url, headers)
      )
      assert.strictEqual(result.status, 413)
      assert.isBelow(result.sent, most)
      assert.isBelow(peak, 101 * mebibyte)
      assert.deepStrictEqual(yield* uploads, [])
      assert.strictEqual(yield* Queue.size(calls), 0)
    })
  }
})
