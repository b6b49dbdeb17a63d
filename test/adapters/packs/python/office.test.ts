import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { connectAgent, runComputer, type ComputerOptions, runServer } from "../../../../src/main/entrypoints/promise.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { write } from "../packs.ts"
import { cache, describePython, pythonPack } from "./python.ts"

const command = join(import.meta.dirname, "../../../../src/main/cli/a2c.ts")

/** Reports its progress, then waits until it is cancelled. */
const waiting = pythonPack({
  params: "text: str = ''\npath: str = ''",
  call: [
    "self.report_progress(1, 2, 'half')",
    "if not arguments['path']: return [TextContent(type='text', text=arguments['text'].upper())]",
    "try:",
    "    await asyncio.sleep(600)",
    "except asyncio.CancelledError:",
    "    open(arguments['path'], 'w').write('cancelled')",
    "    raise"
  ].join("\n")
})

const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

const fixtures = join(import.meta.dirname, "../../../fixtures/packs/python/src")

/** A Computer that serves the packs of a folder, and an Agent that sees their tools. */
const officeOf = async (folder: string, count: number, confirm: NonNullable<ComputerOptions["confirm"]>) => {
  await using started = new AsyncDisposableStack()
  const server = started.use(await runServer({ authenticate: "allowAll" }))
  const place = { url: server.url, office: "team" }
  const packs = {
    command: process.execPath,
    args: [command, "tools", "serve", folder, "--mcp", "stdio"],
    env: { XDG_CACHE_HOME: cache }
  }
  started.use(await runComputer({ ...place, name: "desk", config: { mcpServers: { packs } }, confirm }))
  const agent = started.use(await connectAgent({ ...place, name: "thinker" }))
  for await (const { computers } of agent.changes()) if ((computers.get("desk")?.tools?.length ?? 0) === count) break
  const resources = started.move()
  return { agent, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

describePython("Python pack in an office", () => {
  it("replies to an Agent with the packs of the specification, a file included", async () => {
    const asked: Array<string> = []
    await using office = await officeOf(fixtures, 2, ({ tool }) => {
      asked.push(tool)
      return true
    })
    const call = async (tool: string, params: JsonObject) => (await office.agent.callTool({ tool, params })).content
    assert.deepStrictEqual(await call("text_counter", { text: "hi there 你好" }), [
      { type: "text", text: "字符数: 11, 单词数: 3" }
    ])
    const file = `data:text/plain;name=a.txt;base64,${Buffer.from("héllo").toString("base64")}`
    assert.deepStrictEqual(await call("file_analyzer", { file, detail_level: "detailed" }), [
      { type: "text", text: "文件名: a.txt\n大小: 6 字节\n详细程度: detailed" }
    ])
    assert.deepStrictEqual(asked, ["text_counter", "file_analyzer"])
  })

  it.live("asks for consent, reports progress, and ends when its call is cancelled", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(join(folder, "packs", "pack"), {
        "__init__.py": "from .pack_tool import PackTool\n",
        "pack_tool.py": waiting
      })
      yield* Effect.promise(async () => {
        const asked: Array<string> = []
        await using office = await officeOf(join(folder, "packs"), 1, ({ params, tool }) => {
          asked.push(`${tool} ${String(params["text"])}`)
          return params["text"] !== "no"
        })
        const { agent } = office
        const statuses: Array<string> = []
        const onStatus = (status: { readonly _tag: string }) => void statuses.push(status._tag)

        const { content } = await agent.callTool({ tool: "pack", params: { text: "yes" }, onStatus })
        assert.deepStrictEqual(content, [{ type: "text", text: "YES" }])
        assert.include(statuses, "Progressing")

        const denied = await agent.callTool({ tool: "pack", params: { text: "no" } })
        assert.isTrue(denied.isError)
        assert.deepStrictEqual(asked, ["pack yes", "pack no"])

        const trace = join(folder, "trace")
        const cancel = new AbortController()
        const calling = agent
          .callTool(
            {
              tool: "pack",
              params: { text: "wait", path: trace },
              onStatus: ({ _tag }) => _tag === "Progressing" && cancel.abort()
            },
            { signal: cancel.signal }
          )
          .catch(() => undefined)
        await until(() => read(trace) === "cancelled")
        await calling
      })
    }).pipe(Effect.scoped)
  )
})
