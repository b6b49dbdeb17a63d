import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { server } from "./offices.ts"
import { a2c } from "./processes.ts"

const fetchJson = (url: string, init: RequestInit = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, init)
    const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? ""
    return { status: response.status, cookie, body: JSON.parse(await response.text()) as Record<string, unknown> }
  })

const withBody = (value: object, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", "x-a2c-csrf": "any", ...headers },
  body: JSON.stringify(value)
})

/** Publishes an office that has the Agent only. */
const publish = Effect.fnUntraced(function* (...flags: ReadonlyArray<string>) {
  const url = yield* server
  const bridge = yield* a2c("agent", "--server", url, "--office", "team", "mcp", "--http", "0", ...flags)
  const mcp = (yield* bridge.prints("publishing office team at ")).replace("publishing office team at ", "")
  return { bridge, mcp }
})

const pageOf = (mcp: string) => mcp.replace(/mcp$/, "office")

describe("a2c agent mcp --http", () => {
  it.live("serves the page of its office", () =>
    Effect.gen(function* () {
      const { bridge, mcp } = yield* publish()
      const printed = yield* bridge.prints("office page at ")
      assert.strictEqual(printed, `office page at ${pageOf(mcp)}`)
      const { body } = yield* fetchJson(`${pageOf(mcp)}/api/session`)
      assert.deepInclude(body, { office: { line: "0.2", office: "team" }, mayCall: true })
    })
  )

  it.live("lets the page see and use the office of the Agent", () =>
    Effect.gen(function* () {
      const { mcp } = yield* publish()
      const { body, cookie } = yield* fetchJson(`${pageOf(mcp)}/api/session`)
      const headers = { cookie, "x-a2c-csrf": String(body["csrf"]) }
      const command = { _tag: "GetTools", line: "0.2", office: "team", computer: "absent" }
      const reply = yield* fetchJson(`${pageOf(mcp)}/api/commands`, withBody(command, headers))
      assert.deepStrictEqual([reply.status, reply.body["code"]], [404, 404])
    })
  )

  it.live("also requires the token of MCP clients for the page", () =>
    Effect.gen(function* () {
      const { mcp } = yield* publish("--token", "a-long-token-for-the-page")
      const signIn = (token: string) => fetchJson(`${pageOf(mcp)}/api/session`, withBody({ token }))
      const statuses = [
        (yield* fetchJson(`${pageOf(mcp)}/api/session`)).status,
        (yield* signIn("another-token")).status,
        (yield* signIn("a-long-token-for-the-page")).status
      ]
      assert.deepStrictEqual(statuses, [401, 401, 200])
    })
  )

  it.live("serves no page with --no-page", () =>
    Effect.gen(function* () {
      const { bridge, mcp } = yield* publish("--no-page")
      const status = yield* Effect.promise(async () => (await fetch(pageOf(mcp))).status)
      assert.strictEqual(status, 404)
      assert.notInclude(bridge.stdout(), "office page")
    })
  )
})

describe("a2c demo --page", () => {
  it.live("keeps an office with two Computers and an Agent, until it is interrupted", () =>
    Effect.gen(function* () {
      const demo = yield* a2c("demo", "--page")
      const printed = yield* demo.prints("Open ")
      const page = /http:\S+/.exec(printed)?.[0] ?? ""
      const { body, cookie } = yield* fetchJson(`${page}api/session`)
      assert.propertyVal(body, "hasBodies", true)
      const joined = Effect.promise(async () => {
        const response = await fetch(`${page}api/events`, { headers: { cookie } })
        const reader = (response.body ?? assert.fail("no events")).pipeThrough(new TextDecoderStream()).getReader()
        const names = new Set<string>()
        for (let text = ""; names.size < 3; ) {
          text += (await reader.read()).value ?? ""
          for (const [, name] of text.matchAll(/"role":"(?:agent|computer)","name":"([^"]+)"/g)) names.add(name ?? "")
        }
        await reader.cancel()
        return [...names].toSorted()
      })
      assert.deepStrictEqual(yield* joined, ["demo-agent", "desk", "lab"])
      yield* demo.signal("SIGINT")
      assert.strictEqual(yield* demo.ended, 130)
    })
  )
})
