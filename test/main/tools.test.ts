import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Validator } from "@seriousme/openapi-schema-validator"
import { Effect, Fiber, Schedule } from "effect"
import { descendants, kill, processes } from "../processes.ts"
import { computer, server } from "./offices.ts"
import { a2c, type Cli, cli, node, run } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const examples = fileURLToPath(new URL("../../examples/packs", import.meta.url))

/** Serves packs with a file of the command, and returns the URL. */
const serveWith = Effect.fnUntraced(function* (file: string, ...args: ReadonlyArray<string>) {
  const process = yield* node([file, "tools", "serve", ...args, "--port", "0"])
  const printed = yield* process.prints("serving ")
  return { process, printed, url: printed.replace(/^.* at /, "") }
})

const serve = (...args: ReadonlyArray<string>) => serveWith(cli, ...args)

const serveExamples = serve(examples)

/** A folder with one pack: its name and its code. */
const folderWith = (packs: { readonly [file: string]: string }) =>
  Effect.tap(temporaryFolder, (folder) =>
    Effect.sync(() => {
      for (const [file, code] of Object.entries(packs)) put(folder, file, code)
    })
  )

const put = (folder: string, file: string, code: string) => {
  mkdirSync(join(folder, file, ".."), { recursive: true })
  writeFileSync(join(folder, file), code)
}

/** A pack with one tool, in JavaScript. */
const toolSaying = (name: string, body: string) => `export default {
  getRouteConfig: () => ({ endpoint: "/tools/${name}", params: { type: "object" } }),
  listTools: () => [{ name: "${name}", description: "a tool" }],
  callTool: async (_name, args, { signal, config }) => { ${body} }
}`

const request = (url: string, init?: RequestInit) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    return { status: response.status, body: (await response.json()) as unknown }
  })

const post = (url: string, args: object, headers = {}) =>
  request(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(args)
  })

const textReply = (text: string) => ({ status: 200, body: { content: [{ type: "text", text }] } })

/** Repeats a request until it has this result. */
const becomes = (question: Effect.Effect<unknown>, answer: unknown) =>
  question.pipe(
    Effect.flatMap((given) => (JSON.stringify(given) === JSON.stringify(answer) ? Effect.void : Effect.fail(given))),
    Effect.retry(Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: "60 seconds" })))
  )

const statusOf = Effect.map(({ status }: { readonly status: number }) => status)

const ended = Effect.fnUntraced(function* (process: Cli) {
  return [yield* process.ended, process.stdout(), process.stderr()] as const
})

/** Runs `a2c` to its end; gives its exit code and what it prints on stdout. */
const printed = (...args: ReadonlyArray<string>) => Effect.map(run(...args), ({ code, stdout }) => [code, stdout])

/** The first requests to a server over stdio: the call follows with a tool. */
const initializes = (served: Cli, tool?: string) =>
  Effect.gen(function* () {
    yield* served.types(JSON.stringify(initialize))
    if (tool === undefined) return
    yield* served.prints('"id":1')
    yield* served.types('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    yield* served.types(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"${tool}","arguments":{}}}`)
  })

describe("example pack", () => {
  it.live("serves HTTP exactly as documented", () =>
    Effect.gen(function* () {
      const { printed: line, url } = yield* serveExamples
      assert.match(line, /^serving 2 of 2 packs at http:\/\/127\.0\.0\.1:\d+$/)
      assert.deepStrictEqual(
        yield* post(`${url}/tools/text_counter`, { text: "你好 wide 😀\u3000world" }),
        textReply("字符数: 15, 单词数: 4")
      )
      const form = new FormData()
      form.set("file", new Blob(["0123456789"], { type: "text/plain" }), "file.txt")
      form.set("detail_level", "detailed")
      assert.deepStrictEqual(
        yield* request(`${url}/tools/file_analyzer`, { method: "POST", body: form }),
        textReply("文件名: file.txt\n大小: 10 字节\n详细程度: detailed")
      )
      form.delete("detail_level")
      assert.deepStrictEqual(
        yield* request(`${url}/tools/file_analyzer`, { method: "POST", body: form }),
        textReply("文件名: file.txt\n大小: 10 字节\n详细程度: basic")
      )
      assert.deepStrictEqual(yield* post(`${url}/tools/text_counter`, {}), {
        status: 422,
        body: { detail: [{ loc: ["body", "text"], msg: "Field required", type: "missing" }] }
      })
    })
  )

  it.live("provides an OpenAPI document that a real validator accepts", () =>
    Effect.gen(function* () {
      const { url } = yield* serveExamples
      const { body } = yield* request(`${url}/openapi.json`)
      const verdict = yield* Effect.promise(() =>
        new Validator().validate(body as Parameters<Validator["validate"]>[0])
      )
      assert.deepStrictEqual([verdict.valid, verdict.errors], [true, undefined])
      assert.containsAllKeys((body as { paths: object }).paths, ["/tools/text_counter", "/tools/file_analyzer"])
    })
  )

  it.live("serves an Agent through an office and a Computer", () =>
    Effect.gen(function* () {
      const url = yield* server
      yield* computer(url, "team", "desk", {
        packs: { command: process.execPath, args: [cli, "tools", "serve", examples, "--mcp", "stdio"] }
      })
      const place = ["--server", url, "--office", "team"]
      const call = ["call", "text_counter", "--args", '{"text": "through an office"}']
      assert.deepStrictEqual(yield* printed("agent", ...place, ...call), [0, "字符数: 17, 单词数: 3\n"])
      const file = { filename: "hi.txt", data: "aGkK" }
      const analyzed = yield* a2c("agent", ...place, "call", "file_analyzer", "--args", JSON.stringify({ file }))
      const analysis = "文件名: hi.txt\n大小: 3 字节\n详细程度: basic\n"
      assert.deepStrictEqual((yield* ended(analyzed)).slice(0, 2), [0, analysis])
    })
  )
})

interface JsonRpcReply {
  readonly id: number
  readonly result?: { readonly content?: ReadonlyArray<{ readonly text?: string }> }
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}

describe("folder of packs", { concurrent: true }, () => {
  it.live("reloads new, edited, broken, fixed and removed packs", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({})
      const { url } = yield* serve(folder)
      const call = post(`${url}/tools/lamp`, {})
      assert.strictEqual((yield* call).status, 404)
      put(folder, "lamp/lamp_tool.mjs", toolSaying("lamp", 'return (await import("./word.mjs")).word'))
      put(folder, "lamp/word.mjs", 'export const word = "one"')
      yield* becomes(call, textReply("one"))
      put(folder, "lamp/word.mjs", 'export const word = "two"')
      yield* becomes(call, textReply("two"))
      put(folder, "lamp/lamp_tool.mjs", "export default {")
      yield* becomes(statusOf(call), 404)
      const { body } = yield* request(`${url}/tools`)
      assert.match(JSON.stringify(body), /"name":"lamp".*"status":"failed".*lamp_tool\.mjs.*Unexpected end/)
      put(folder, "lamp/lamp_tool.mjs", toolSaying("lamp", 'return "three"'))
      yield* becomes(call, textReply("three"))
      rmSync(join(folder, "lamp"), { recursive: true })
      yield* becomes(statusOf(call), 404)
    })
  )

  it.live("logs each version of a pack as ready once", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({ "one/one_tool.mjs": toolSaying("one", 'return "one"') })
      const { process } = yield* serve(folder)
      put(folder, "bad/bad_tool.mjs", "export default {")
      yield* process.prints("pack failed pack=bad", "stderr")
      put(folder, "two/two_tool.mjs", toolSaying("two", 'return "two"'))
      yield* process.prints("pack ready pack=two", "stderr")
      put(folder, "one/one_tool.mjs", toolSaying("one", 'return "new"'))
      yield* process.prints("pack ready pack=one", "stderr", 2)
      put(folder, "three/three_tool.mjs", toolSaying("three", 'return "three"'))
      yield* process.prints("pack ready pack=three", "stderr")
      const ready = [...process.stderr().matchAll(/pack ready pack=(\w+)/g)].map(([, name]) => name)
      assert.deepStrictEqual(ready, ["one", "two", "one", "three"])
    })
  )

  it.live("lists broken packs with their reasons, and keeps the others", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({
        "good/good_tool.mjs": toolSaying("good", 'return "fine"'),
        "throws/throws_tool.mjs": 'throw new Error("at import")',
        "nameless/nameless_tool.mjs": "export class OtherTool {}",
        "empty/config.yaml": "enabled: true",
        "odd/odd_tool.mjs": toolSaying("odd", ""),
        "odd/config.yaml": "enabled: [",
        "off/off_tool.mjs": toolSaying("off", ""),
        "off/config.yaml": "enabled: false"
      })
      const listed = yield* a2c("tools", "list", folder)
      const [code, stdout, stderr] = yield* ended(listed)
      assert.strictEqual(code, 1)
      assert.match(stdout, /^good +good +POST \/tools\/good/m)
      assert.match(stdout, /^off +- +disabled/m)
      for (const words of [
        /^a2c: throws: .*at import/m,
        /^a2c: nameless: .*NamelessTool/m,
        /^a2c: empty: .*'empty_tool\.ts'/m,
        /^a2c: odd: .*config\.yaml/m,
        /4 of 6 packs cannot be used/
      ]) {
        assert.match(stderr, words)
      }
      assert.notMatch(stderr, /\n\s+at /)
      const { url } = yield* serve(folder)
      assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
    })
  )

  const neverLoading = {
    "a pack that waits for ever": "await new Promise(() => setInterval(() => {}, 1000))",
    "a pack that loops": "for (;;) await new Promise((resolve) => setTimeout(resolve, 10))",
    "a pack without anything to wait for": "await new Promise(() => {})",
    "several such packs": "await new Promise((_, reject) => setTimeout(reject, 3_600_000))"
  }
  for (const [title, code] of Object.entries(neverLoading)) {
    for (const flags of [[], ["--isolate"]]) {
      it.live(`offers the others beside ${title} ${flags.join(" ")}`.trimEnd(), () =>
        Effect.gen(function* () {
          const folder = yield* folderWith({
            "good/good_tool.mjs": toolSaying("good", 'return "fine"'),
            "never/never_tool.mjs": code,
            ...(title === "several such packs" && { "other/other_tool.mjs": code, "z/z_tool.mjs": code })
          })
          const { url } = yield* serve(folder, ...flags)
          assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
          const { body } = yield* request(`${url}/tools`)
          assert.match(JSON.stringify(body), /"name":"never".*?"status":"loading"/)
          assert.deepStrictEqual(yield* printed("tools", "call", "good", "--dir", folder, ...flags), [0, "fine\n"])
        })
      )
    }
  }

  for (const [title, code] of Object.entries({
    "a pack waits for ever and another throws": 'throw new Error("broken")',
    "a pack waits for ever and another is malformed": "export default {",
    "a pack waits for ever and another exports nothing": "",
    "its only pack waits for ever": undefined
  })) {
    it.live(`answers over stdio while ${title}`, () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({
          ...(code !== undefined && { "broken/broken_tool.mjs": code }),
          "never/never_tool.mjs": "await new Promise(() => setInterval(() => {}, 1000))"
        })
        const served = yield* node([cli, "tools", "serve", folder, "--mcp", "stdio"])
        yield* initializes(served)
        yield* served.prints('"id":1')
        assert.notInclude(served.stderr(), "loading took more than")
      })
    )
  }

  const exits = {
    "at import": "process.exit(3)",
    "after an await": "await new Promise((resolve) => setTimeout(resolve, 1)); process.exit(3)",
    "from a timer": `setTimeout(process.exit, 500, 3)\n${toolSaying("leaver", "")}`,
    "at the end of its exit code": `process.exitCode = 3; setTimeout(() => process.exit(), 1)\n${toolSaying("leaver", "")}`
  }
  for (const [title, code] of Object.entries(exits)) {
    for (const flags of [
      ["--mcp", "stdio"],
      ["--port", "0"]
    ]) {
      it.live(`names the pack that ends the process ${title} with ${flags.join(" ")}`, () =>
        Effect.gen(function* () {
          const folder = yield* folderWith({ "leaver/leaver_tool.mjs": code })
          const served = yield* node([cli, "tools", "serve", folder, ...flags])
          const [exitCode, , stderr] = yield* ended(served)
          assert.strictEqual(exitCode, 3)
          assert.match(stderr, /pack ended the process pack=leaver code=3|pack ended the process code=3 pack=leaver/)
        })
      )
    }
  }

  it.live("keeps the others while an isolated pack ends its process", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({
        "good/good_tool.mjs": toolSaying("good", 'return "fine"'),
        "leaver/leaver_tool.mjs": "process.exit(3)"
      })
      const { url } = yield* serve(folder, "--isolate")
      assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
    })
  )

  it.live("offers a pack later that loads slowly, and names one that throws late", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({ "good/good_tool.mjs": toolSaying("good", 'return "fine"') })
      const wait = (file: string) => `import { existsSync } from "node:fs"
        while (!existsSync(${JSON.stringify(join(folder, file))})) await new Promise((resolve) => setTimeout(resolve, 20))
        `
      put(folder, "slow/slow_tool.mjs", wait("go") + toolSaying("slow", 'return "at last"'))
      put(folder, "late/late_tool.mjs", `${wait("throw")}throw new Error("too late")`)
      const { url } = yield* serve(folder)
      assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
      assert.strictEqual((yield* post(`${url}/tools/slow`, {})).status, 404)
      put(folder, "go", "")
      yield* becomes(post(`${url}/tools/slow`, {}), textReply("at last"))
      put(folder, "throw", "")
      yield* becomes(
        Effect.map(request(`${url}/tools`), ({ body }) =>
          /"name":"late".*?"status":"failed".*?too late/.test(JSON.stringify(body))
        ),
        true
      )
    })
  )

  const prints = (word: string) => `console.log("${word}"); console.info("${word}"); console.table(["${word}"])
    console.dir({ a: "${word}" }); process.stdout.write("${word}\\n"); writeSync(1, "${word}\\n")
    spawnSync(process.execPath, ["-p", "'${word}'"], { stdio: "inherit" })
    await new Promise((resolve) => spawn(process.execPath, ["-p", "'${word}'"], { stdio: ["ignore", 1, 2] }).on("exit", resolve))`
  for (const flags of [[], ["--isolate"]]) {
    it.live(`speaks only MCP over stdio while its packs print ${flags.join(" ")}`.trimEnd(), () =>
      Effect.gen(function* () {
        const imports = 'import { spawn, spawnSync } from "node:child_process"\nimport { writeSync } from "node:fs"\n'
        const folder = yield* folderWith({
          "noisy/noisy_tool.mjs": `${imports}${prints("import")}\n${toolSaying("noisy", `${prints("call")}\nreturn "x".repeat(3_000_000)`)}`
        })
        const served = yield* node([cli, "tools", "serve", folder, "--mcp", "stdio", ...flags])
        const messages = () =>
          served
            .stdout()
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line) as JsonRpcReply)
        yield* initializes(served, "noisy")
        yield* served.prints('"id":2')
        const ids = messages().map(({ id }) => id)
        assert.deepStrictEqual(ids, [1, 2])
        assert.strictEqual(messages()[1]?.result?.content?.[0]?.text?.length, 3_000_000)
        for (const word of ["import", "call"]) yield* served.prints(word, "stderr", 7)
      })
    )
  }

  const blockingCode = {
    "at import": 'console.log("blocked"); for (;;);',
    "in a call": toolSaying("stuck", 'console.log("blocked"); for (;;);'),
    "at the end": `process.on("exit", () => { console.log("blocked"); for (;;); })\n${toolSaying("stuck", "process.exit()")}`,
    "by waiting for another thread": toolSaying(
      "stuck",
      'console.log("blocked"); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
    )
  }
  for (const [kind, code] of Object.entries(blockingCode)) {
    it.live(`leaves no process when a host kills a server over stdio that a pack blocks ${kind}`, () =>
      Effect.gen(function* () {
        const folder = yield* folderWith({ "stuck/stuck_tool.mjs": code })
        const served = yield* node([cli, "tools", "serve", folder, "--mcp", "stdio"])
        yield* initializes(served, kind === "at import" ? undefined : "stuck")
        yield* served.prints("blocked", "stderr")
        const below = descendants(served.pid)
        assert.isNotEmpty(below)
        kill(served.pid, "SIGKILL")
        yield* Effect.sync(() => processes().filter(({ isZombie, pid }) => below.includes(pid) && !isZombie)).pipe(
          Effect.repeat({ until: (left) => left.length === 0, schedule: Schedule.spaced("100 millis") }),
          Effect.timeout("40 seconds")
        )
      })
    )
  }

  it.live("kills and restarts only a pack that hangs, with --isolate", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({
        "loop/loop_tool.mjs": toolSaying("loop", "if (args.calm) return process.pid; for (;;);"),
        "good/good_tool.mjs": toolSaying("good", 'return "fine"')
      })
      const { url } = yield* serve(folder, "--isolate", "--timeout", "2")
      const stuck = yield* Effect.forkScoped(post(`${url}/tools/loop`, {}))
      assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
      assert.strictEqual((yield* Fiber.join(stuck)).status, 504)
      yield* becomes(statusOf(post(`${url}/tools/loop`, { calm: true })), 200)
      assert.deepStrictEqual(yield* post(`${url}/tools/good`, {}), textReply("fine"))
    })
  )

  it.live("installs dependencies once, and refuses without permission", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({
        "odd/odd_tool.mjs": `import isOdd from "is-odd"\n${toolSaying("odd", "return String(isOdd(args.n))")}`,
        "odd/config.yaml": 'packages: ["is-odd==3.0.1"]',
        "good/good_tool.mjs": toolSaying("good", 'return "fine"')
      })
      const rejected = yield* a2c("tools", "list", folder, "--no-install")
      const [, stdout, stderr] = yield* ended(rejected)
      assert.match(stderr, /^a2c: odd: .*is-odd@3\.0\.1/m)
      assert.match(stdout, /^good +good/m)
      assert.deepStrictEqual(yield* printed("tools", "call", "odd", "--dir", folder, "--args", '{"n": 3}'), [
        0,
        "true\n"
      ])
      assert.isTrue(existsSync(join(folder, "odd/package-lock.json")))
      assert.deepStrictEqual(
        yield* printed("tools", "call", "odd", "--dir", folder, "--args", '{"n": 4}', "--no-install"),
        [0, "false\n"]
      )
    })
  )
})

describe("a2c tools", () => {
  it.live("searches the documented folders, with variables of a .env file", () =>
    Effect.gen(function* () {
      const pack = (className: string, name: string) => `export class ${className} {
        get_route_config() { return [{ endpoint: "/tools/${name}", params_class: { type: "object" } }] }
        list_tools() { return [{ name: "${name}" }] }
        call_tool() { return [{ type: "text", text: "${name}" }] }
      }`
      const folder = yield* folderWith({
        ".env": "AUTOMATA_API_KEY=s3cret\nPORT=0\nTOOLS_DIR=app\nA2C_LOG=x",
        "app/one/one_tool.ts": pack("OneTool", "one"),
        "AutoUp-MCP-Extension/two_tool.ts": pack("TwoTool", "two")
      })
      const process = yield* node([cli, "tools", "serve"], {}, folder)
      const url = (yield* process.prints("serving 2 of 2 packs at ")).replace(/^.* at /, "")
      const key = { "X-API-Key": "s3cret" }
      assert.strictEqual((yield* post(`${url}/tools/one`, {})).status, 401)
      assert.deepStrictEqual(yield* post(`${url}/tools/one`, {}, key), textReply("one"))
      assert.deepStrictEqual(yield* post(`${url}/tools/two`, {}, key), textReply("two"))
    })
  )

  it.live("creates a working pack with a passing test", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const made = yield* a2c("tools", "new", "word_count", "--dir", folder)
      assert.strictEqual(yield* made.ended, 0, made.stderr())
      const tested = yield* node(["--test", join(folder, "word_count/word_count_tool.test.ts")])
      assert.strictEqual(yield* tested.ended, 0, tested.stdout())
      assert.deepStrictEqual(
        yield* printed("tools", "call", "word_count", "--dir", folder, "--args", '{"text": "a b"}'),
        [0, "3 characters, 2 words\n"]
      )
      const twice = yield* a2c("tools", "new", "word_count", "--dir", folder)
      assert.match((yield* ended(twice))[2], /word_count exists already/)
      const bad = yield* a2c("tools", "new", "3d_view", "--dir", folder)
      assert.match((yield* ended(bad))[2], /cannot be named '3d_view'/)
    })
  )

  it.live("requires a key from the environment or a .env file, and rejects requests without it", () =>
    Effect.gen(function* () {
      for (const [flags, env] of [
        [["--host", "0.0.0.0"], {}],
        [[], { HOST: "0.0.0.0" }]
      ] as const) {
        const open = yield* node([cli, "tools", "serve", examples, ...flags, "--port", "0"], env)
        const [code, , stderr] = yield* ended(open)
        assert.strictEqual(code, 1)
        assert.match(stderr, /AUTOMATA_API_KEY/)
      }
      const spy = yield* folderWith({
        "spy/spy_tool.mjs": toolSaying("spy", 'return String(process.env["AUTOMATA_API_KEY"])')
      })
      const process = yield* node([cli, "tools", "serve", spy, examples, "--port", "0"], {
        AUTOMATA_API_KEY: "s3cret"
      })
      const url = (yield* process.prints("serving ")).replace(/^.* at /, "")
      assert.deepStrictEqual(yield* post(`${url}/tools/spy`, {}, { "X-API-Key": "s3cret" }), textReply("undefined"))
      const args = { text: "a" }
      assert.strictEqual((yield* post(`${url}/tools/text_counter`, args)).status, 401)
      assert.strictEqual((yield* post(`${url}/tools/text_counter`, args, { "X-API-Key": "guess" })).status, 401)
      assert.strictEqual((yield* post(`${url}/tools/text_counter`, args, { "X-API-Key": "s3cret" })).status, 200)
      assert.strictEqual((yield* post(`${url}/mcp`, {})).status, 401)
      assert.strictEqual((yield* request(`${url}/health`)).status, 200)
    })
  )

  for (const flags of [[], ["--isolate"]]) {
    it.live(`keeps its key out of the environment of packs and their processes ${flags.join(" ")}`.trimEnd(), () =>
      Effect.gen(function* () {
        const spies = `const { execFileSync } = await import("node:child_process")
          return [String(process.env["AUTOMATA_API_KEY"]), execFileSync("env").includes("s3cret")].join()`
        const folder = yield* folderWith({
          "spy/spy_tool.mjs": toolSaying("spy", spies)
        })
        const key = { AUTOMATA_API_KEY: "s3cret" }
        const call = yield* node([cli, "tools", "call", "spy", "--dir", folder, ...flags], key)
        assert.deepStrictEqual(yield* ended(call), [0, "undefined,false\n", ""])
        const served = yield* node([cli, "tools", "serve", folder, "--port", "0", ...flags], key)
        const url = (yield* served.prints("serving ")).replace(/^.* at /, "")
        assert.deepStrictEqual(
          yield* post(`${url}/tools/spy`, {}, { "X-API-Key": "s3cret" }),
          textReply("undefined,false")
        )
      })
    )
  }

  it.live("calls a tool without a server, and exits with 2 when it fails", () =>
    Effect.gen(function* () {
      const folder = yield* folderWith({
        "sad/sad_tool.mjs": toolSaying("sad", 'throw new Error("out of oil")')
      })
      const call = yield* a2c("tools", "call", "sad", "--dir", folder)
      assert.deepStrictEqual(yield* ended(call), [2, "", "a2c: out of oil\n"])
      const unknown = yield* a2c("tools", "call", "nope", "--dir", folder)
      assert.match((yield* ended(unknown))[2], /^a2c: No tool 'nope' is in .*; there are sad\n$/)
    })
  )
})
