import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { textResult, tool } from "../../../conformance/members.ts"
import { inOffice, type PromiseOffice } from "../../promise/promiseOffice.ts"
import { a2cInProcess, a2cRunning } from "../inProcess.ts"

const failing = tool("fail", () => Effect.succeed({ ...textResult("no"), isError: true }))

const desk = async (office: PromiseOffice) => {
  const alpha = await office.mcpServer({ tools: [tool("echo"), failing] })
  return { alpha, computer: await office.computer({ config: { servers: { alpha } }, approve: ["*"] }) }
}

/** Starts commands of an Agent that share the connection of the first. */
const commandsOf = async (office: PromiseOffice) => {
  const user = ConfigProvider.layer(ConfigProvider.fromEnv({ env: { XDG_RUNTIME_DIR: await office.folder() } }))
  const words = ["agent", "--server", office.server.url, "--office", "team"]
  return {
    start: (...more: ReadonlyArray<string>) =>
      office.acquire(
        Effect.map(Effect.provide(a2cRunning(...words, ...more), user), ({ prints, stdout }) => ({
          stdout,
          prints: (text: string, times?: number) => Effect.runPromise(prints(text, "stdout", times))
        }))
      ),
    run: (...more: ReadonlyArray<string>) =>
      Effect.runPromise(Effect.provide(Effect.scoped(a2cInProcess(...words, ...more)), user))
  }
}

type Commands = Awaited<ReturnType<typeof commandsOf>>

/** Repeats a command until it acts through the connection of another. */
const untilShared = async (run: Commands["run"]): Promise<void> =>
  (await run("members")).failure === undefined ? undefined : untilShared(run)

describe("a2c agent watch", () => {
  it("says first what it watches", () =>
    inOffice(async (office) => {
      await desk(office)
      const { prints, stdout } = await (await commandsOf(office)).start("watch")
      await prints("watching")
      assert.strictEqual(
        stdout().split("\n")[0],
        `watching office "team" on ${office.server.url} (2 tools, 1 Computer); Ctrl-C ends`
      )
    }))

  it("prints members that enter and leave, changes of tools, and states of MCP servers, after the time", () =>
    inOffice(async (office) => {
      const { alpha, computer } = await desk(office)
      const { prints } = await (await commandsOf(office)).start("watch")
      await prints("watching")
      const lamp = await office.computer({ name: "lamp" })
      assert.match(await prints("lamp entered"), /^\d\d:\d\d:\d\d {2}computer lamp entered$/)
      await lamp.close()
      await prints("computer lamp left")
      const beta = await office.mcpServer({ tools: [tool("add"), tool("sub")] })
      const broken = { type: "stdio", server_parameters: { command: "no-such-command" } }
      await computer.reconfigure({ config: { servers: { alpha, beta, broken } } })
      await prints("desk: MCP server broken is failing: ")
      assert.match(await prints("desk: 4 tools"), /, added add, sub$/)
      await computer.reconfigure({ config: { servers: { alpha } } })
      assert.match(await prints("desk: 2 tools"), /, removed add, sub$/)
    }))

  it("prints the calls of other commands, and their outcomes", () =>
    inOffice(async (office) => {
      await desk(office)
      const { run, start } = await commandsOf(office)
      const { prints } = await start("watch")
      await prints("watching")
      await untilShared(run)
      await run("call", "echo")
      await prints("desk: echo called")
      assert.match(await prints("desk: echo ok"), /, after \S+ m?s$/)
      await run("call", "fail")
      await prints("desk: fail failed: the tool returned an error, after ")
      await run("call", "echo", "--computer", "absent", "{}")
      await prints("absent: echo failed: error 404, after ")
    }))

  it("prints objects with their times as JSON", () =>
    inOffice(async (office) => {
      await desk(office)
      const { run, start } = await commandsOf(office)
      const { prints, stdout } = await start("--json", "watch")
      await untilShared(run)
      await run("call", "echo")
      const ended = JSON.parse(await prints("CallEnded"))
      assert.deepInclude(ended, { _tag: "CallEnded", computer: "desk", tool: "echo", outcome: "ok" })
      assert.isNumber(Date.parse(ended.at))
      const events = stdout()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.isTrue(events.every(({ _tag, at }) => typeof _tag === "string" && typeof at === "string"))
    }))
})

describe("a2c agent members --watch", () => {
  it("prints all members and their tools with every change", () =>
    inOffice(async (office) => {
      await desk(office)
      const { prints, stdout } = await (await commandsOf(office)).start("members", "--watch")
      await prints("computer  desk       2 tools")
      await office.computer({ name: "lamp" })
      await prints("computer  lamp       0 tools")
      assert.strictEqual(
        stdout().split("\n\n").at(-2),
        "agent     a2c-agent\ncomputer  desk       2 tools\ncomputer  lamp       0 tools"
      )
    }))

  it("uses the connection of another command", () =>
    inOffice(async (office) => {
      await desk(office)
      const { run, start } = await commandsOf(office)
      await start("watch")
      await untilShared(run)
      const { prints } = await start("--json", "members", "--watch")
      const members: ReadonlyArray<JsonObject> = JSON.parse(await prints('"desk"'))
      assert.deepInclude(
        members.find(({ name }) => name === "desk"),
        { name: "desk", role: "computer" }
      )
    }))
})
