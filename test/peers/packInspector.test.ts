import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { live } from "../main/offices.ts"
import { cli, node } from "../main/processes.ts"

const examples = fileURLToPath(new URL("../../examples/packs", import.meta.url))
const inspector = fileURLToPath(new URL("node_modules/.bin/mcp-inspector", import.meta.url))

describe("example pack", () => {
  live(
    "serves the inspector over both MCP transports",
    Effect.gen(function* () {
      const calls = [
        [["--tool-name", "text_counter", "--tool-arg", "text=a b"], "字符数: 3, 单词数: 2"],
        [
          ["--tool-name", "file_analyzer", "--tool-arg", "file=data:text/plain;name=hi.txt;base64,aGkK"],
          "文件名: hi.txt\\n大小: 3 字节\\n详细程度: basic"
        ]
      ] as const
      const stdio = [process.execPath, cli, "tools", "serve", examples, "--mcp", "stdio"]
      const serving = yield* node([cli, "tools", "serve", examples, "--port", "0"])
      const url = (yield* serving.prints("serving ")).replace(/^.* at /, "")
      for (const target of [stdio, [`${url}/mcp`, "--transport", "http"]]) {
        for (const [call, answer] of calls) {
          const inspected = yield* node([inspector, "--cli", ...target, "--method", "tools/call", ...call])
          assert.strictEqual(yield* inspected.ended, 0, inspected.stderr())
          assert.include(inspected.stdout(), answer)
        }
      }
    })
  )
})
