import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { connectAgent, runComputer, runServer } from "../../../../src/main/entrypoints/promise.ts"
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

describePython("Python pack in an office", () => {
  it.live("asks for consent, reports progress, and ends when its call is cancelled", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* write(join(folder, "packs", "pack"), {
        "__init__.py": "from .pack_tool import PackTool\n",
        "pack_tool.py": waiting
      })
      yield* Effect.promise(async () => {
        await using server = await runServer({ authenticate: "allowAll" })
        const place = { url: server.url, office: "team" }
        const asked: Array<string> = []
        await using _computer = await runComputer({
          ...place,
          name: "desk",
          config: {
            mcpServers: {
              packs: {
                command: process.execPath,
                args: [command, "tools", "serve", join(folder, "packs"), "--mcp", "stdio"],
                env: { XDG_CACHE_HOME: cache }
              }
            }
          },
          confirm: ({ params, tool }) => {
            asked.push(`${tool} ${String(params["text"])}`)
            return params["text"] !== "no"
          }
        })
        await using agent = await connectAgent({ ...place, name: "thinker" })
        for await (const { computers } of agent.changes()) if ((computers.get("desk")?.tools?.length ?? 0) > 0) break
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
