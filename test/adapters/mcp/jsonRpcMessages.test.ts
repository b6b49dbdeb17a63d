import { assert, describe, it } from "@effect/vitest"
import { decodeMessages, repairMessage } from "../../../src/adapters/mcp/jsonRpcMessages.ts"

const result = { tools: [] }
const error = { code: -32000, message: "no" }

describe("repairMessage", () => {
  it.each([
    ["a request", { jsonrpc: "2.0", id: 1, method: "ping" }],
    [
      "a log message whose data is null",
      { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: null } }
    ],
    ["a response", { jsonrpc: "2.0", id: "a", result }],
    ["an error", { jsonrpc: "2.0", id: 1, error }]
  ])("gives the same object for %s", (_, message) => {
    assert.strictEqual<unknown>(repairMessage(message), message)
  })

  it.each<readonly [string, unknown, unknown]>([
    ["parameters that are null", { method: "m", params: null }, { method: "m" }],
    [
      "members of parameters that are null",
      { method: "m", params: { a: null, data: null, b: 1 } },
      { method: "m", params: { data: null, b: 1 } }
    ],
    ["metadata that is null", { id: 1, result: { ...result, _meta: null } }, { id: 1, result }],
    [
      "an unusable progress token",
      { method: "m", params: { _meta: { progressToken: null, a: 1 } } },
      { method: "m", params: { _meta: { a: 1 } } }
    ],
    [
      "a total of a progress that is no number",
      { method: "notifications/progress", params: { progress: 1, total: "2", message: 3 } },
      { method: "notifications/progress", params: { progress: 1 } }
    ],
    ["an id of a notification that is null", { id: null, method: "m" }, { method: "m" }],
    ["an empty error beside a result", { id: 1, result, error: {} }, { id: 1, result }],
    ["an empty text as the error beside a result", { id: 1, result, error: "" }, { id: 1, result }]
  ])("drops %s", (_, given, expected) => {
    assert.deepStrictEqual<unknown>(repairMessage(given), { jsonrpc: "2.0", ...Object(expected) })
  })

  it.each<readonly [string, unknown, unknown]>([
    ["an error beside a result", { id: 1, result, error }, error],
    ["a text as the error beside a result", { id: 1, result, error: "no" }, { code: -32603, message: "no" }],
    ["a code as text", { id: 1, error: { code: "-32000", message: "no" } }, error],
    ["an error without a message", { id: 1, error: { code: -1 } }, { code: -1, message: "the error has no message" }],
    [
      "a result that is no object",
      { id: 1, result: "done" },
      { code: -32603, message: "the response is not an MCP result" }
    ],
    [
      "a response with nothing",
      { jsonrpc: "2.0", id: 1 },
      { code: -32603, message: "the response has neither a result nor an error" }
    ],
    ...["jsorpc", "JSONRPC", "json-rpc", "version"].map(
      (name) =>
        [
          `a response with nothing but a misspelt outcome, and ${name}`,
          { [name]: "2.0", id: 1, reslt: result },
          { code: -32603, message: "the response has neither a result nor an error" }
        ] as const
    )
  ])("takes the error from %s", (_, given, expected) => {
    assert.deepStrictEqual<unknown>(repairMessage(given), { jsonrpc: "2.0", id: 1, error: expected })
  })

  it.each<readonly [string, unknown, string | number | undefined, unknown]>([
    ["a number as text", "7", undefined, 7],
    ["a text that is the id of the request", "7", "7", "7"],
    ["no id", undefined, 7, 7],
    ["null", null, 7, 7],
    ["a fraction", 1.5, 7, 7],
    ["a text", "seven", 7, "seven"]
  ])("identifies a response by %s", (_, id, requestId, expected) => {
    assert.deepStrictEqual<unknown>(repairMessage({ id, result }, requestId), { jsonrpc: "2.0", id: expected, result })
  })

  it.each([
    [{}],
    [{ jsonrpc: "2.0" }],
    [{ result }],
    [{ id: null, result: null }],
    [{ id: 1, level: "info" }],
    [{ id: 1, version: "2.0.1", msg: "called" }],
    [{ jsorpc: "2.0" }],
    [[]],
    ["text"],
    [null]
  ])("gives nothing for %j", (given) => {
    assert.isUndefined(repairMessage(given))
  })
})

describe("decodeMessages", () => {
  it("repairs each message of a batch, and counts other values", () => {
    const { isUnchanged, messages, skipped } =
      decodeMessages(JSON.stringify([{ id: "1", result }, 5, { method: "m", params: null }])) ?? {}
    assert.deepStrictEqual<unknown>(
      { isUnchanged, messages, skipped },
      {
        isUnchanged: false,
        skipped: 1,
        messages: [
          { jsonrpc: "2.0", id: 1, result },
          { jsonrpc: "2.0", method: "m" }
        ]
      }
    )
  })

  it("reads a text with a byte order mark, and no text that is not JSON", () => {
    const text = '{"jsonrpc":"2.0","id":1,"result":{}}'
    assert.deepInclude(decodeMessages(text), { isUnchanged: true })
    assert.deepInclude(decodeMessages(`\u{feff}${text}`), { isUnchanged: false, skipped: 0 })
    assert.isUndefined(decodeMessages("{"))
  })

  it("reads a message of 12 MB among logs, and none that does not end", () => {
    const text = `log ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { text: 'a"'.repeat(6_000_000) } })}`
    assert.strictEqual(decodeMessages(text)?.messages.length, 1)
    assert.isUndefined(decodeMessages(text.slice(0, -1)))
  })
})
