import { assert, describe, it } from "@effect/vitest"
import { Duration, Exit, Result } from "effect"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import {
  decodeFrameBody,
  decodeNotificationFrame,
  decodeReplyFrame,
  notificationFrame,
  replyFrame,
  requestFrame,
  serializeBody
} from "../../../../src/adapters/redis/nodelink/frameContents.ts"
import {
  encodeFields,
  frameKinds,
  MessageReader,
  type MessageWriter,
  toBytes
} from "../../../../src/adapters/redis/nodelink/messageFormat.ts"
import type { OutgoingFrame } from "../../../../src/adapters/redis/nodelink/SendQueue.ts"
import { type Body, invalidBody, jsonBody } from "../../../../src/application/ports/Body.ts"
import { LinkClosed, type ReplyExit, RequestTimeout, SendFailed } from "../../../../src/application/ports/Transport.ts"
import { badRequest, internalError, ProtocolError } from "../../../../src/domain/model/ProtocolError.ts"
import { valueOf } from "../../nodeLink.contract.ts"

/** The bytes of a frame after its kind, as they arrive in one message. Asserts the announced bound of its fields. */
const bytesOf = ({ content, kind, maxFieldBytes, writeFields }: OutgoingFrame): Buffer => {
  const fields = encodeFields(maxFieldBytes, kind, writeFields)
  assert.isAtMost(fields.length - 1, maxFieldBytes)
  assert.strictEqual(fields[0], kind)
  return Buffer.concat([fields.subarray(1), toBytes(content)])
}

/** A reply as the other node decodes it: in one message, or reassembled from fragments. */
const transferred = (exit: ReplyExit, isReassembled = false): ReplyExit | undefined => {
  const frame = replyFrame(7, exit)
  const reader = new MessageReader(isReassembled ? bytesOf({ ...frame, content: "" }) : bytesOf(frame))
  assert.strictEqual(reader.u32(), 7)
  const tail = Buffer.concat([toBytes(frame.content), Buffer.from("]")])
  return decodeReplyFrame(frame.kind, reader, isReassembled ? tail : undefined)
}

const valuesOf = (exit: ReplyExit | undefined): unknown =>
  exit !== undefined && Exit.isSuccess(exit) ? exit.value.map(valueOf) : exit

const failureOf = (exit: ReplyExit | undefined) => {
  const [reason] = exit !== undefined && Exit.isFailure(exit) ? exit.cause.reasons : []
  return reason?._tag === "Fail" ? reason.error : undefined
}

/** The members of an error: equality of errors compares only names and messages. */
const membersOf = ({ code, details, extra, message }: ProtocolError) => ({ code, message, details, extra })

const errorOf = (exit: ReplyExit | undefined) => {
  const failure = failureOf(exit)
  return failure?._tag === "SendFailed" ? membersOf(failure.error) : undefined
}

/** The fields of a frame, from a hand-written writer. */
const fieldsOf = (write: (writer: MessageWriter) => unknown): MessageReader =>
  new MessageReader(Buffer.from(encodeFields(1000, 0, write).subarray(1)))

describe.each([
  ["in one message", false],
  ["in fragments", true]
])("reply that arrives %s", (_, isReassembled) => {
  it.each([
    ["no value", []],
    ["one value", [{ a: "ü€😀" }]],
    ["several values", [1, "ü€😀", null, {}]]
  ])("has %s", (_name, values) => {
    assert.deepStrictEqual(valuesOf(transferred(Exit.succeed(values.map(jsonBody)), isReassembled)), values)
  })

  it("has the error of a value that could not be written", () => {
    const faulty = invalidBody(badRequest("no"))
    const one = transferred(Exit.succeed([faulty]), isReassembled)
    assert.deepStrictEqual(valuesOf(one), ["fault 400"])
    const several = transferred(Exit.succeed([jsonBody("é"), faulty, jsonBody(2)]), isReassembled)
    assert.deepStrictEqual(valuesOf(several), ["é", "fault 400", 2])
  })

  it("has the reason of a closed link", () => {
    const exit: ReplyExit = Exit.fail(new LinkClosed({ reason: "gone: é" }))
    assert.deepInclude(failureOf(transferred(exit, isReassembled)), { _tag: "LinkClosed", reason: "gone: é" })
  })

  it("has the timeout that passed", () => {
    const exit: ReplyExit = Exit.fail(new RequestTimeout({ timeout: Duration.millis(1234) }))
    const failure = failureOf(transferred(exit, isReassembled))
    assert.strictEqual(failure?._tag === "RequestTimeout" ? Duration.toMillis(failure.timeout) : 0, 1234)
  })

  it("has the whole error of the other node", () => {
    const error = new ProtocolError({ code: 4001, message: "é", details: { a: 1 }, extra: { b: [2] } })
    assert.deepStrictEqual(errorOf(transferred(Exit.fail(new SendFailed({ error })), isReassembled)), membersOf(error))
    const short = new ProtocolError({ code: 403, message: "" })
    assert.deepStrictEqual(
      errorOf(transferred(Exit.fail(new SendFailed({ error: short })), isReassembled)),
      membersOf(short)
    )
  })
})

describe("reply", () => {
  it("reports a defect as an internal error without its text", () => {
    const error = errorOf(transferred(Exit.die(new Error("secret"))))
    assert.strictEqual(error?.code, 500)
    assert.notInclude(String(error?.message), "secret")
  })

  it("has at most 64 values", () => {
    const ofValues = (count: number) => transferred(Exit.succeed(Array.from({ length: count }, () => jsonBody(1))))
    assert.lengthOf(valuesOf(ofValues(64)) as ReadonlyArray<unknown>, 64)
    assert.strictEqual(errorOf(ofValues(65))?.code, 500)
  })

  it("is invalid when its kind is unknown", () => {
    assert.isUndefined(
      decodeReplyFrame(
        frameKinds.request,
        fieldsOf(() => undefined),
        undefined
      )
    )
  })

  it.each([
    ["a truncated count", (_: MessageWriter) => undefined],
    ["a truncated marker", (writer: MessageWriter) => writer.u8(1)],
    ["truncated lengths", (writer: MessageWriter) => writer.u8(2).u8(0).u8(0).u32(0)],
    ["lengths below its text", (writer: MessageWriter) => writer.u8(2).u8(0).u8(0).u32(1).u32(1).content("123")],
    ["lengths above its text", (writer: MessageWriter) => writer.u8(2).u8(0).u8(0).u32(1).u32(2).content("12")],
    ["text without values", (writer: MessageWriter) => writer.u8(0).content("1")]
  ])("with %s is invalid", (_, write) => {
    assert.isUndefined(decodeReplyFrame(frameKinds.reply, fieldsOf(write), undefined))
  })

  it.each(["{", "1", '{"message":"no"}', '{"code":"1","message":"no"}', '{"code":1}', '{"code":1,"message":2}'])(
    "that rejects with %s has an internal error",
    (json) => {
      const fields = fieldsOf((writer) => writer.content(json))
      assert.strictEqual(errorOf(decodeReplyFrame(frameKinds.rejected, fields, undefined))?.code, 500)
    }
  )

  it("leaves out members of an error that have another type", () => {
    const fields = fieldsOf((writer) => writer.content('{"code":1,"message":"no","details":2,"extra":[],"more":{}}'))
    const expected = new ProtocolError({ code: 1, message: "no" })
    assert.deepStrictEqual(errorOf(decodeReplyFrame(frameKinds.rejected, fields, undefined)), membersOf(expected))
  })
})

describe("notification", () => {
  const sids = ["a", "ü€😀", ""]

  const decoded = (fields: MessageReader, reassembled?: Buffer) => {
    const message = decodeNotificationFrame(fields, reassembled)
    return message === undefined ? undefined : { ...message, body: valueOf(message.body) }
  }

  it("has its event, its members and its body", () => {
    const bytes = bytesOf(notificationFrame(sids, "notify:é", '{"a":1}'))
    assert.deepStrictEqual(decoded(new MessageReader(bytes)), { event: "notify:é", sids, body: { a: 1 } })
  })

  it("also arrives in fragments", () => {
    const bytes = bytesOf(notificationFrame(["a"], "x", ""))
    const arrived = decoded(new MessageReader(bytes), Buffer.from("[1]]"))
    assert.deepStrictEqual(arrived, { event: "x", sids: ["a"], body: [1] })
  })

  it("is invalid when it announces more members than it has", () => {
    assert.isUndefined(decoded(fieldsOf((writer) => writer.string("x").u32(2).string("a"))))
    assert.isUndefined(decoded(fieldsOf((writer) => writer.string("x").u32(0xffffffff))))
    assert.isUndefined(decoded(fieldsOf(() => undefined)))
  })
})

describe("request", () => {
  it("has its id, timeout, session, office, event and body", () => {
    const to = { sid: "sé", office: "€" }
    const reader = new MessageReader(bytesOf(requestFrame(9, 1.5, { to, event: "é", content: "{}" })))
    assert.deepStrictEqual(
      [reader.u32(), reader.f64(), reader.string(), reader.string(), reader.string()],
      [9, 1.5, "sé", "€", "é"]
    )
    assert.strictEqual(String(reader.rest()), "{}")
    assert.isFalse(reader.isTruncated)
  })

  it.each([
    ["sid", { to: { sid: "😀", office: "" }, event: "" }],
    ["office", { to: { sid: "", office: "😀" }, event: "" }],
    ["event", { to: { sid: "", office: "" }, event: "😀" }]
  ])("bounds the bytes of its %s", (_, parts) => {
    const { maxFieldBytes } = requestFrame(9, 1, { ...parts, content: "" })
    const empty = requestFrame(9, 1, { to: { sid: "", office: "" }, event: "", content: "" })
    assert.strictEqual(maxFieldBytes - empty.maxFieldBytes, 6)
  })
})

describe("body", () => {
  const arrived = (body: Body) =>
    decodeFrameBody(new MessageReader(toBytes(Result.getOrThrow(serializeBody(body)))), undefined)

  it("passes bytes on as received", () => {
    const body = RawBody.unparsed(Buffer.from('{ "a": 1 }]'))
    assert.deepStrictEqual(serializeBody(body), Result.succeed(Buffer.from('{ "a": 1 }')))
  })

  it("gives the error when it cannot be written", () => {
    const error = internalError("no")
    assert.deepStrictEqual(serializeBody(invalidBody(error)), Result.fail(error))
  })

  it("is text up to 16 KiB and bytes above, with the same value", () => {
    const ofBytes = (bytes: number) => jsonBody("x".repeat(bytes - 2))
    const short = arrived(ofBytes(16 * 1024))
    const long = arrived(ofBytes(16 * 1024 + 1))
    assert.deepStrictEqual([short instanceof RawBody, long instanceof RawBody], [false, true])
    assert.strictEqual(valueOf(long), "x".repeat(16 * 1024 - 1))
    assert.strictEqual(valueOf(short), "x".repeat(16 * 1024 - 2))
    assert.strictEqual(long instanceof RawBody ? long.tail.at(-1) : 0, "]".charCodeAt(0))
  })
})
