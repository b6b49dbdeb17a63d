import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { calls } from "../../../../src/domain/wire/calls.ts"
import { cancel, serverRequests, updates } from "../../../../src/domain/wire/v0_2/events.ts"
import { callStatus } from "../../../../src/domain/wire/v0_2/callStatus.ts"
import type { EventDefinition } from "../../../../src/domain/wire/ProtocolLine.ts"
import { line } from "../../../../src/domain/wire/v0_2/line.ts"
import { notificationEvents } from "../../../../src/domain/wire/v0_2/notifications.ts"
import { errorCodes, ProtocolError } from "../../../../src/domain/model/ProtocolError.ts"

/** Events with their sender, by the constant that the seeds use. */
const catalogue: { readonly [constant: string]: readonly [event: string, from: string] } = {
  /** Not part of the protocol, as `GET_APPROVALS_EVENT`. */
  DECIDE_APPROVAL_EVENT: ["client:decide_approval", "agent"],
  GET_APPROVALS_EVENT: ["client:get_approvals", "agent"],
  CANCEL_TOOL_CALL_EVENT: ["server:tool_call_cancel", "agent"],
  CANCEL_TOOL_CALL_NOTIFICATION: ["notify:tool_call_cancel", "server"],
  ENTER_OFFICE_NOTIFICATION: ["notify:enter_office", "server"],
  GET_CONFIG_EVENT: ["client:get_config", "agent"],
  GET_DESKTOP_EVENT: ["client:get_desktop", "agent"],
  GET_DPE_EVENT: ["client:get_dpe", "agent"],
  GET_FINDER_EVENT: ["client:get_finder", "agent"],
  GET_RESOURCES_EVENT: ["client:get_resources", "agent"],
  GET_TOOLS_EVENT: ["client:get_tools", "agent"],
  JOIN_OFFICE_EVENT: ["server:join_office", "member"],
  LEAVE_OFFICE_EVENT: ["server:leave_office", "member"],
  LEAVE_OFFICE_NOTIFICATION: ["notify:leave_office", "server"],
  LIST_ROOM_EVENT: ["server:list_room", "agent"],
  TOOL_CALL_EVENT: ["client:tool_call", "agent"],
  UPDATE_CONFIG_EVENT: ["server:update_config", "computer"],
  UPDATE_CONFIG_NOTIFICATION: ["notify:update_config", "server"],
  UPDATE_DESKTOP_EVENT: ["server:update_desktop", "computer"],
  UPDATE_DESKTOP_NOTIFICATION: ["notify:update_desktop", "server"],
  UPDATE_FINDER_EVENT: ["server:update_finder", "computer"],
  UPDATE_FINDER_NOTIFICATION: ["notify:update_finder", "server"],
  UPDATE_TOOL_LIST_EVENT: ["server:update_tool_list", "computer"],
  UPDATE_TOOL_LIST_NOTIFICATION: ["notify:update_tool_list", "server"]
}

/** Events that the seeds do not have: of later versions of the line, and of this project. */
const extensions: typeof catalogue = {
  GET_BLOB_EVENT: ["client:get_blob", "agent"],
  GET_SKILL_EVENT: ["client:get_skill", "agent"],
  GET_SKILLS_EVENT: ["client:get_skills", "agent"],
  MCP_EVENT: ["client:mcp", "agent"],
  UPDATE_SKILLS_EVENT: ["server:update_skills", "computer"],
  UPDATE_SKILLS_NOTIFICATION: ["notify:update_skills", "server"],
  UPDATE_TOOL_CALL_EVENT: ["server:update_tool_call", "computer"],
  UPDATE_TOOL_CALL_NOTIFICATION: ["notify:update_tool_call", "server"]
}

const { findEventDefinition } = line

describe("event table", () => {
  it("holds every event of the catalogue with its sender", () => {
    const definitions = [calls, serverRequests, updates, { callStatus, cancel }]
      .flatMap((group): ReadonlyArray<EventDefinition | undefined> => Object.values(group))
      .filter((definition) => definition !== undefined)
    const notifications = definitions.flatMap((one) => ("notification" in one ? [one.notification] : []))
    const senders = [
      ...definitions.map(({ event, from }) => [event, from] as const),
      ...[...Object.values(notificationEvents), ...notifications].map((event) => [event, "server"] as const)
    ]
    const expected = Object.values({ ...catalogue, ...extensions })
    assert.deepStrictEqual(new Map(senders), new Map(expected))
    assert.strictEqual(senders.length, expected.length)
  })

  it("finds newer client events, and no events of the Server", () => {
    assert.strictEqual(findEventDefinition("client:something_new")?.kind, "call")
    for (const event of ["notify:enter_office", "server:nope", "message", "constructor", "__proto__"]) {
      assert.isUndefined(findEventDefinition(event), event)
    }
  })

  it("finds the Finder under both names", () => {
    assert.strictEqual(findEventDefinition("client:list_finder"), findEventDefinition("client:get_finder"))
  })

  it("reads the timeout of a request", () => {
    const base = { agent: "a", req_id: "r", computer: "c" }
    const timeoutOf = (
      definition: {
        decodeRouting: (head: unknown) => Result.Result<{ timeoutSeconds: number | undefined }, string>
      },
      more = {}
    ) => Result.getOrThrow(definition.decodeRouting({ ...base, ...more })).timeoutSeconds
    assert.strictEqual(timeoutOf(calls.toolCall, { tool_name: "t", params: {}, timeout: 7 }), 7)
    assert.strictEqual(timeoutOf(calls.getDpe, { uri: "u" }), 60)
    assert.isUndefined(timeoutOf(calls.getTools))
  })

  it("rejects an unknown notification", () => {
    assert.isTrue(Result.isFailure(line.decodeNotification("notify:update_nothing", { computer: "pc" })))
  })
})

describe("acknowledgement", () => {
  it("case 336: encodes an error flat", () => {
    const [details, extra] = [{ d: 1 }, { uri: "u", category: "new" }]
    const error = new ProtocolError({ code: errorCodes.dpeResolutionFailed, message: "m", details, extra })
    assert.deepStrictEqual(line.encodeProtocolError(error), { code: 4013, message: "m", details, ...extra })
  })

  it.each([[[false, "x"]], [[[false, "x"]]], [[{ code: 400, message: "x" }]]])(
    "case 344: decodes a rejection as two values or one array: %j",
    (values) => {
      assert.deepStrictEqual(Result.getOrThrow(Result.flip(line.decodeMembershipAck(values))), "x")
    }
  )
})

describe("error codes", () => {
  it("has one name per error code", () => {
    const numbers = Object.values(errorCodes)
    assert.strictEqual(new Set(numbers).size, numbers.length)
  })
})

describe("the status of a call", () => {
  it.each([
    { _tag: "WaitingForConsent", computer: "pc" },
    { _tag: "WaitingForConsent", computer: "pc", approval: { id: "a", server: "s", tool: "t", waitSeconds: 9 } },
    { _tag: "Decided", computer: "pc", isAllowed: true, by: "ann" },
    { _tag: "WaitingForServers", computer: "pc", servers: ["s"] },
    { _tag: "Progressing", computer: "pc", progress: 1 }
  ] as const)("names the caller, whose call it is: %j", (status) => {
    const body = (agent?: string) =>
      line.encodeCallStatus({ reqId: "r", status, ...(agent !== undefined && { agent }) })
    assert.deepInclude<unknown>(body("ada"), { agent: "ada", computer: "pc", req_id: "r" })
    assert.notProperty(body(), "agent")
  })
})
