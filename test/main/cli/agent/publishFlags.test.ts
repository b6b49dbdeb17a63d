import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { AgentSharedOptions, OptionsOf } from "../../../../src/main/cli/agent/flags.ts"
import { connectHttp } from "../../../adapters/mcp/publish/clients.ts"
import { hangingTool, textResult, tool } from "../../../conformance/members.ts"
import { type FlagRow, type FlagRows, testFlags } from "../flagRows.ts"
import { a2cRunning, deskInProcess, serverInProcess } from "../inProcess.ts"
import { folderOfTests } from "../../../folderOfTests.ts"

const folder = folderOfTests()

const tokenFile = join(folder, "token")
writeFileSync(tokenFile, "s3cret")

/** An office with a Computer `desk`, and `a2c agent mcp` in it. */
const office = Effect.gen(function* () {
  const url = yield* serverInProcess
  const { hanging, started } = yield* hangingTool("hang")
  const large = tool("large", () => Effect.succeed(textResult("x".repeat(10_000))))
  yield* deskInProcess({ url, office: "team" }, [tool("echo"), large, hanging, tool("n".repeat(60))])
  const publish = (...args: ReadonlyArray<string>) =>
    a2cRunning("agent", "--server", url, "--office", "team", "mcp", ...args)
  return { publish, started }
})

const publishing = "publishing office team at "

/** The URL at which the office is published over HTTP, and a receipt of the call of `hang`. */
const publishedWith = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const { publish, started } = yield* office
  const { prints } = yield* publish("--http", "0", ...args)
  return { url: (yield* prints(publishing)).replace(publishing, ""), started }
})

/** A row of a flag: what a request to the published office gives. */
const requested = (
  args: ReadonlyArray<string>,
  outcomes: FlagRow[1],
  request: (url: string) => ReturnType<FlagRow[2]>,
  others: ReadonlyArray<string> = []
): FlagRow => [
  args,
  outcomes,
  (given) => Effect.flatMap(publishedWith([...others, ...given]), ({ url }) => request(url))
]

const statusOf = (path: string, method: string) => (url: string) =>
  Effect.promise(async () => (await fetch(new URL(path, url), { method })).status)

/** The names of the tools that an MCP client lists. */
const listed = Effect.fnUntraced(function* (url: string) {
  const { request } = yield* connectHttp(url)
  const { tools } = yield* request("tools/list")
  return (tools as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
})

/** Whether an MCP client lists a tool. */
const lists = (name: string) => (url: string) => Effect.map(listed(url), (names) => names.includes(name))

const call = (url: string, name: string) =>
  Effect.flatMap(connectHttp(url), ({ request }) =>
    Effect.map(request("tools/call", { name, arguments: {} }), (result) => JSON.stringify(result))
  )

const rows: FlagRows<Omit<OptionsOf<"mcp">, keyof AgentSharedOptions>> = {
  http: [
    ["--http", "0"],
    ["ends with stdin", "listens"],
    Effect.fnUntraced(function* (given) {
      const { publish } = yield* office
      const { ended, prints } = yield* publish(...given)
      return yield* Effect.catchCause(Effect.as(prints(publishing), "listens"), () =>
        Effect.as(ended, "ends with stdin")
      )
    })
  ],
  host: requested(["--host", "0.0.0.0"], ["127.0.0.1", "0.0.0.0"], (url) => Effect.succeed(new URL(url).hostname), [
    "--token",
    `@${tokenFile}`
  ]),
  token: requested(["--token", `@${tokenFile}`], [400, 401], statusOf("", "POST")),
  page: requested(["--no-page"], [200, 404], statusOf("/office/", "GET")),
  tools: requested(["--tools", "search"], [false, true], lists("tools_search")),
  pinnedTools: requested(["--pin", "desk/echo"], [false, true], lists("desk__echo"), ["--tools", "search"]),
  maxNameLength: requested(["--max-name-length", "24"], [45, 24], (url) =>
    Effect.map(listed(url), (names) => Math.max(...names.map(({ length }) => length)))
  ),
  maxResult: requested(["--max-result", "4KiB"], [false, true], (url) =>
    Effect.map(call(url, "desk__large"), (text) => text.includes("result_read"))
  ),
  timeout: [
    ["--timeout", "5"],
    ["waits", "ended"],
    Effect.fnUntraced(function* (given) {
      const { started, url } = yield* publishedWith(given)
      const calling = yield* Effect.forkScoped(call(url, "desk__hang"))
      yield* started
      yield* TestClock.adjust("5 seconds")
      if (given.length > 0) yield* Fiber.join(calling)
      else yield* listed(url)
      return calling.pollUnsafe() === undefined ? "waits" : "ended"
    }, Effect.provide(TestClock.layer()))
  ]
}

describe("a flag of a2c agent mcp", () => {
  testFlags(rows)
})
