/** Calls tools of some Computers over one transport, and cancels a call. Computers of functions count the cancelled calls. */
import { setTimeout as sleep } from "node:timers/promises"
import { strict as assert } from "node:assert"
import { A2cError, connectAgent, type ToolResult } from "a2c-smcp/promise"

const [url = "", transports = "", ...computers] = process.argv.slice(2)
const textOf = ({ content: [block] }: ToolResult): string => (block?.type === "text" ? block.text : "")

const warnings: Array<unknown> = []
const agent = await connectAgent({
  url,
  office: "team",
  name: "thinker",
  transports: transports.split(",").map((name) => (name === "polling" ? "polling" : "websocket")),
  log: ({ level, message }) => void (level === "Info" || level === "Debug" || warnings.push(message))
})
await agent.settled()
/** The desktop of each Computer. */
const desktops = (): Promise<ReadonlyArray<string>> =>
  Promise.all(computers.map(async (computer) => (await agent.getDesktop(computer)).join()))
const before = await desktops()
for (const computer of computers) {
  const sum = await agent.callTool({ computer, tool: "get-sum", params: { a: 2, b: 3 } })
  assert.equal(textOf(sum), "The sum of 2 and 3 is 5.")

  const message = "ä€😀".repeat(200_000)
  assert.equal(textOf(await agent.callTool({ computer, tool: "echo", params: { message } })), `Echo: ${message}`)
  assert.equal((await agent.callTool({ computer, tool: "echo", params: { message: "no" } })).meta?.["error_code"], 4005)

  const stop = new AbortController()
  const slow = agent.callTool(
    { computer, tool: "trigger-long-running-operation", params: { duration: 60, steps: 60 } },
    { signal: stop.signal }
  )
  await sleep(200)
  stop.abort()
  await assert.rejects(slow, (error) => error instanceof A2cError && error.code === "aborted")
}
// Longer than two intervals of the Server's pings.
await sleep(2500)
const cancelledBefore = before.map((text) => text.replace(/\d+$/, (count) => String(Number(count) + 1)))
assert.deepEqual(await desktops(), cancelledBefore)
assert.equal((await agent.members()).length, computers.length + 1)
await agent.close()
assert.deepEqual(warnings, [])
console.log("works")
