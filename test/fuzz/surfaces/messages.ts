import { isDeepStrictEqual } from "node:util"
import { Effect, Result } from "effect"
import { receivedBody } from "../../../src/application/ports/Body.ts"
import { ComputerConfig } from "../../../src/domain/config/computerConfig.ts"
import { type Codec, makeCodec } from "../../../src/domain/validation.ts"
import {
  canonicalJson,
  checkJsonBody,
  isJsonObject,
  formatSpacedJson,
  parseJsonOrThrow
} from "../../../src/domain/json.ts"
import { membershipConflict, parseMembershipConflict } from "../../../src/domain/office/membershipConflict.ts"
import { lineNamed } from "../../../src/domain/wire/lines.ts"
import type { ProtocolLine } from "../../../src/domain/wire/ProtocolLine.ts"
import { parseToolResult } from "../../../src/domain/model/ToolResult.ts"
import { parseAnnotations } from "../../../src/domain/tools/toolAnnotations.ts"
import { mergeToolMeta } from "../../../src/domain/config/toolMeta.ts"
import { parseToolMeta, formatToolMeta } from "../../../src/domain/tools/toolMeta.ts"
import { addTransformedEvent, toVrlEvent, removeTransformedEvent } from "../../../src/domain/tools/vrl.ts"
import { plainServer } from "../../domain/config/plainServer.ts"
import { valueIn } from "./textIn.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"

/** A codec without static types. */
type AnyCodec = Pick<Codec<unknown>, "decode"> & { readonly encode: (value: never) => unknown }

/** Encodes a decoded value of unknown type. */
const writeWith = (encode: AnyCodec["encode"], read: unknown): unknown => plain(encode(read as never))

/** The first and the last line: the others have parts of either. */
const line = lineNamed("0.2")
const lastLine = lineNamed("0.4")

/** Each line sends only a part of a configuration, which a file has as a whole. */
const codecsOfCalls = ({ calls: { getConfig, ...calls } }: ProtocolLine): ReadonlyArray<AnyCodec> => [
  getConfig.request,
  ...Object.values(calls).flatMap(
    (call): ReadonlyArray<AnyCodec> => (call === undefined ? [] : [call.request, call.reply])
  )
]

const codecs: ReadonlyArray<AnyCodec> = [
  ...[line, lastLine].flatMap(codecsOfCalls),
  makeCodec(ComputerConfig),
  line.serverRequests.join.request,
  line.serverRequests.leave.request,
  line.serverRequests.list.request,
  line.serverRequests.list.reply,
  ...Object.values(line.updates).map(({ request }) => request),
  line.cancel.request,
  line.callStatus.request
]

const notificationEvents = [
  "enter_office",
  "leave_office",
  "update_config",
  "update_tool_list",
  "update_desktop",
  "update_finder",
  "update_skills",
  "tool_call_cancel"
].map((name) => `notify:${name}`)

const plain = (value: unknown): unknown => parseJsonOrThrow(JSON.stringify(value ?? null))

/** Checks that decode, encode, decode gives the same value. */
const checkCodec = ({ decode, encode }: AnyCodec, value: unknown): boolean => {
  const read = decode(value)
  if (Result.isFailure(read)) {
    must(typeof read.failure === "string" && !read.failure.includes("\n"), "an error is not one line")
    return false
  }
  const written = writeWith(encode, read.success)
  const again = decode(written)
  must(Result.isSuccess(again), "an encoded value cannot be decoded")
  if (Result.isSuccess(again)) {
    must(isDeepStrictEqual(writeWith(encode, again.success), written), "a message changes in a round trip")
  }
  return true
}

const checkRouting = (value: unknown): void => {
  for (const { request, decodeRouting } of Object.values(lastLine.calls).filter((call) => call !== undefined)) {
    const routing = decodeRouting(value)
    const read = request.decode(value)
    must(Result.isSuccess(routing) === Result.isSuccess(read), "routing and decoding disagree")
  }
}

const checkNotifications = (value: unknown): boolean => {
  let some = false
  for (const event of notificationEvents) {
    const notification = line.decodeNotification(event, value)
    if (Result.isFailure(notification)) continue
    some = true
    // No office has this character, which separates the parts of its key in a Server.
    if ("membership" in notification.success && notification.success.membership.office.includes("\0")) continue
    const written = line.encodeNotification(notification.success)
    must(written.event === event, "a notification changes in a round trip")
    must(
      isDeepStrictEqual(
        Result.getOrUndefined(line.decodeNotification(event, plain(written.body))),
        notification.success
      ),
      "a notification changes in a round trip"
    )
  }
  return some
}

const checkCallStatus = (value: unknown): boolean => {
  const report = line.decodeCallStatus(value)
  if (Result.isFailure(report)) return false
  const again = line.decodeCallStatus(plain(line.encodeCallStatus(report.success)))
  must(isDeepStrictEqual(again, report), "the status of a call changes in a round trip")
  return true
}

const checkConflict = (value: unknown): void => {
  const office = "O"
  const message = JSON.stringify(value) ?? ""
  for (const role of ["agent", "computer"] as const) {
    const written = membershipConflict({ role, office, name: "x" }, { name: message, joinedAt: message.length }).message
    const read = parseMembershipConflict({ role, office }, written)
    must(read?.name === message && read.joinedAt === message.length, "a conflict changes in a round trip")
    parseMembershipConflict({ role, office }, `Room already has an agent: ${message}`)
  }
}

const checkTool = (value: unknown): void => {
  if (!isJsonObject(value)) return
  const meta = parseToolMeta(value)
  parseAnnotations(value)
  const shown = formatToolMeta(value, value, meta)
  must(isDeepStrictEqual(parseAnnotations(shown), plain(value)), "annotations change in a round trip")
  if (meta !== undefined) {
    must(isDeepStrictEqual(plain(parseToolMeta(shown)), plain(meta)), "a tool's meta changes in a round trip")
    mergeToolMeta(meta, meta)
  }
  const result = parseToolResult(value)
  if (Result.isFailure(result)) return
  const { content, isError } = result.success
  must(content.every(isJsonObject) && typeof isError === "boolean", "no result")
  const event = toVrlEvent(result.success, { tool: "t", params: value })
  removeTransformedEvent(addTransformedEvent(result.success, event))
}

const feed = (input: Buffer): Verdict => {
  const value = valueIn(input)
  const fault = checkJsonBody(value)
  const body = receivedBody(value)
  must(Result.isFailure(body.value()) === (fault !== undefined), "an error is not reported")
  if (fault !== undefined) return "refused"
  must(isDeepStrictEqual(parseJsonOrThrow(canonicalJson(value)), plain(value)), "canonical JSON changes the value")
  must(
    canonicalJson(parseJsonOrThrow(canonicalJson(value))) === canonicalJson(value),
    "canonical JSON is not idempotent"
  )
  must(isDeepStrictEqual(parseJsonOrThrow(formatSpacedJson(value)), plain(value)), "spaced JSON changes the value")
  checkRouting(value)
  checkTool(value)
  checkConflict(value)
  line.decodeProtocolError(value)
  line.decodeMembershipAck(Array.isArray(value) ? value : [value])
  const taken = [checkNotifications(value), checkCallStatus(value), ...codecs.map((codec) => checkCodec(codec, value))]
  return taken.some((one) => one) ? "accepted" : "refused"
}

const call = { agent: "a", req_id: "r", computer: "c" }
const settings = JSON.stringify({
  auto_apply: true,
  alias: "x",
  tags: ["a"],
  ret_object_mapper: { a: "b" },
  more: 1
})

const bodies: ReadonlyArray<unknown> = [
  call,
  { computer: "c", req_id: "r", status: "waiting_for_servers", servers: ["s"] },
  { computer: "c", req_id: "r", status: "progress", progress: 1, total: 2, message: "m" },
  { role: "agent", name: "a", office_id: "o", take_over: true },
  "x', connected since 2026-11-23T12:00:00.000Z",
  { ...call, tool_name: "echo", params: { text: "x", deep: [{ a: [1, null] }] }, timeout: 30 },
  { ...call, desktop_size: 3, window: "window://app" },
  { ...call, uri: "dpe://h/d", timeout: null },
  { ...call, mcp_server: "m", cursor: "2" },
  { ...call, keywords: ["a"], file_type: "pdf", offset: 0, limit: 5, tags: ["b"] },
  {
    tools: [
      {
        name: "echo",
        description: "d",
        params_schema: { type: "object" },
        return_schema: null,
        meta: {
          a2c_tool_meta: settings,
          MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}',
          list: [1, 2],
          deep: { a: 1 }
        }
      }
    ],
    req_id: "r"
  },
  { a2c_tool_meta: settings, MCP_TOOL_ANNOTATION: '{"title":"t"}', x: [1, "a"] },
  { content: [{ type: "text", text: "hi" }], isError: false, structuredContent: { a: 1 }, meta: { b: 2 } },
  {
    content: [{ type: "image", data: "AA==", mimeType: "image/png" }],
    _meta: { error_code: 4003 },
    isError: true
  },
  { desktops: ["window://a\n\nx"], req_id: "r" },
  { uri: "https://x/y", mime_type: "text/plain", size: 3, name: "n", _meta: { a: 1 }, req_id: "r" },
  { resources: [{ uri: "window://a", name: "a" }], next_cursor: "2", req_id: "r" },
  {
    documents: [
      {
        doc_ref: "d",
        uri: "dpe://h/d",
        file_uri: "file:///d",
        file_type: "pdf",
        title: "t",
        page_count: 3,
        keywords: ["k"],
        server: "s"
      }
    ],
    total_count: 1,
    req_id: "r"
  },
  { sessions: [{ sid: "s", name: "n", role: "agent", office_id: "o", a2c_version: "0.2.0" }], req_id: "r" },
  {
    tools: [{ name: "b__t", bundle_id: "b", description: "", params_schema: {}, return_schema: null, meta: {} }],
    req_id: "r"
  },
  { skills: [{ name: "s", source: "user", path: "/s", description: "d", allowed_tools: ["t"] }], req_id: "r" },
  { name: "s", rel_path: "a", mime_type: "text/plain", total_size: 1, sha256: "0", body: "x", req_id: "r" },
  {
    blob_handle: "h",
    mime_type: "image/png",
    total_size: 3,
    sha256: "0",
    chunk_offset: 0,
    eof: true,
    blob: "AAAA",
    req_id: "r"
  },
  { agent: "a", req_id: "r", computer: "c", blob_handle: "h", chunk_offset: 1, max_chunk_bytes: 2 },
  {
    agent: "a",
    req_id: "r",
    computer: "c",
    chunk_offset: 0,
    eof: true,
    blob: "AAAA",
    total_size: 3,
    sha256: "0",
    name_hint: "x"
  },
  { upload_id: "u", chunk_offset: 0, landing_path: "/x", total_size: 3, sha256: "0", req_id: "r" },
  { resources: [{ uri: "a:b", mime_type: "t/x", annotations: { last_modified: "2026" } }], req_id: "r" },
  { code: 4014, message: "no", mcp_server_name: "s" },
  { role: "computer", name: "c", office_id: "o" },
  { office_id: "o", computer: "c" },
  { office_id: "o", agent: "a" },
  { code: 404, message: "no", details: { a: 1 }, limit: "x" },
  { error: { code: 500, message: "nested" } },
  [true, null],
  [[false, "full"]],
  {
    inputs: [{ type: "promptString", id: "a", description: "" }],
    servers: { s: { ...plainServer, tool_meta: { t: { auto_apply: true } } } }
  }
]

/** Bodies of messages at both ends. */
export const messageSurface: Surface = {
  name: "messages",
  about: "bodies of all messages, tool meta, results, errors and notifications",
  weight: 8,
  lanes: 1,
  corpus: bodies.map((body) => Buffer.from(JSON.stringify(body))),
  words: [
    ['"a2c_tool_meta":"{}",', '"a2c_tool_meta":"{\\"__proto__\\":1}",', '"MCP_TOOL_ANNOTATION":"[]",'],
    ['"agent":"x",', '"computer":null,', '"timeout":0,', '"timeout":3601,'],
    ['"_meta":{},', '"__proto__":{},', '"constructor":1,', '"\\ud800"'],
    ["null", "1e999", "-0"],
    [",", "{", "}", "[", "]"]
  ].flat(),
  longest: 16 * 1024,
  open: () => Effect.succeed(pure(feed))
}
