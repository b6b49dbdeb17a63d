import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import { createRequire } from "node:module"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { runComputer, runServer } from "../src/main/entrypoints/promise.ts"

const run = promisify(execFile)

const everything = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")

/** The office of the README's guide: a Server, and a Computer with an MCP server, by default the reference one. */
const runOffice = async (args: ReadonlyArray<string> = [everything, "stdio"]) => {
  const server = await runServer({ authenticate: "allowAll" })
  const desk = await runComputer({
    url: server.url,
    office: "team",
    name: "desk",
    config: { mcpServers: { everything: { command: process.execPath, args } } },
    confirm: () => true
  })
  return {
    url: server.url,
    [Symbol.asyncDispose]: async () => {
      await desk.close()
      await server.close()
    }
  }
}

/** The examples that connect to the office of the README's guide. */
const inRunningOffice: ReadonlyArray<string> = ["listTools.ts", "quickStart.ts"]

/** The words that each example prints; an example without an entry fails. */
const expected: { readonly [example: string]: ReadonlyArray<string> } = {
  "approvals.ts": [
    "waiting: get-sum at desk",
    "decided by agent thinker",
    "The sum of 2 and 3 is 5.",
    "get-sum is allowed by agent thinker"
  ],
  "devices.ts": ["balcony__temperature", "It is 21 °C in Vienna"],
  "domainInWorker.ts": ["window://com.example.web?fullscreen=1", "All is well"],
  "domainOnly.ts": ["true", "src/main", "window://com.example.web?fullscreen=1"],
  "functionTools.ts": ["empty", "question: Which size of shirt?", "{ products: 1 }", "shirt (L)"],
  "host.ts": ["desk", "entities"],
  "listTools.ts": ["computer desk", "agent thinker", "- get-sum"],
  "mountExpress.ts": ["Hello from Express - Hello from the chat", "entities"],
  "mountFastify.ts": ["Hello from Fastify", "entities"],
  "mountHttp.ts": ["Hello from the program", "thinker"],
  "mountHono.ts": ["Hello from Hono", "entities"],
  "officeForHosts.ts": ["desk__temperature", "tools_search", "It is 21 °C in Vienna"],
  "ownTools.ts": ["The lamp desk is on", "failed: There is no lamp attic", "window://lamps/lamps", "desk: on"],
  "questions.ts": [
    "question: Please provide inputs for the following fields:",
    "required: [ 'name' ]",
    "User provided the requested information",
    "trigger-elicitation-request: done"
  ],
  "prompts.ts": ["everything has 4 prompts", "What's weather in Paris?", '"values":["Engineering"]'],
  "startedCall.ts": ["working at desk", "# Research Report: tea"],
  "pageAgent.ts": ["desk", "entities"],
  "promiseAgent.ts": ["entities", "cancelled", "unknown_tool", "Computers: desk"],
  "protocolLines.ts": ["thinker", "0.4.0"],
  "quickStart.ts": ["The sum of 2 and 3 is 5."],
  "virtualTime.ts": ["rested after 30 minutes", "cancelled after 10 minutes"],
  "wholeOffice.ts": ["The sum of 2 and 3 is 5."]
}

describe("the example programs", () => {
  for (const example of readdirSync("examples").filter((name) => name.endsWith(".ts"))) {
    it(`prints the expected words from ${example}`, { timeout: 180_000 }, async () => {
      await using office = inRunningOffice.includes(example) ? await runOffice() : undefined
      const env = { ...process.env, ...(office !== undefined && { A2C_SERVER: office.url }) }
      const { stdout } = await run(process.execPath, ["--conditions=a2c-source", `examples/${example}`], {
        env
      })
      const words = expected[example]
      assert.isDefined(words)
      for (const word of words ?? []) assert.include(stdout, word)
    })
  }
})

describe("the example of an MCP server with an app", () => {
  it("lists the tool for its app only with --apps", { timeout: 180_000 }, async () => {
    await using office = await runOffice(["examples/apps/counter.ts"])
    const list = async (...flags: ReadonlyArray<string>) => {
      const args = ["src/main/cli/a2c.ts", "agent", "--server", office.url, "--office", "team", "tools", ...flags]
      return (await run(process.execPath, args)).stdout.trim().split(/\s*\n/)
    }
    assert.deepStrictEqual(await list(), ["desk  get_count  Shows the count"])
    assert.deepStrictEqual(await list("--apps"), ["desk  get_count  Shows the count", "desk  add_one    Adds one"])
  })
})
