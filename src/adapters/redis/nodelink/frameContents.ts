import { Duration, Exit, Option, Result } from "effect"
import { type Body, invalidBody } from "../../../application/ports/Body.ts"
import type { RequestTarget } from "../../../application/ports/NodeLink.ts"
import { type ReplyExit, LinkClosed, RequestTimeout, SendFailed } from "../../../application/ports/Transport.ts"
import { asObject, isJsonObject, parseJson } from "../../../domain/json.ts"
import { internalError, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { RawBody } from "../../bytes/RawBody.ts"
import { textBody } from "../../bytes/TextBody.ts"
import { maxStringBytes, toBytes, type Content, type MessageReader, frameKinds } from "./messageFormat.ts"
import type { DirectAddress } from "./direct/DirectConnections.ts"
import { secretBytes } from "./direct/greeting.ts"
import { closeBracket } from "./FrameReassembler.ts"
import type { OutgoingFrame } from "./SendQueue.ts"

/** Bodies up to this size become strings: decoding is cheap and needs no memory outside the heap. */
const maxTextBytes = 16 * 1024

/** The JSON text of a body, as bytes where the body has them. */
export const serializeBody = (body: Body): Result.Result<Content, ProtocolError> =>
  body instanceof RawBody ? Result.succeed(body.json) : body.text()

/** Makes a body from a part of a message. The sender has validated it. */
const makeBody = (json: Buffer): Body => {
  if (json.length <= maxTextBytes) return textBody(json.toString("utf8"))
  const tail = Buffer.allocUnsafeSlow(json.length + 1)
  tail.set(json)
  tail[json.length] = closeBracket
  return RawBody.unparsed(tail)
}

/** The body after the fields of a frame. `reassembled` holds the body of a fragmented frame and a bracket after it. */
export const decodeFrameBody = (fields: MessageReader, reassembled: Buffer | undefined): Body =>
  reassembled === undefined ? makeBody(fields.rest()) : RawBody.unparsed(reassembled)

const remainingJson = (fields: MessageReader, reassembled: Buffer | undefined): Buffer =>
  reassembled?.subarray(0, reassembled.length - 1) ?? fields.rest()

const encodeError = ({ code, details, extra, message }: ProtocolError): string =>
  JSON.stringify({ code, message, details, extra })

const decodeError = (json: Buffer): ProtocolError => {
  const { code, message, details, extra } = asObject(parseJson(json.toString()))
  if (typeof code !== "number" || typeof message !== "string") return internalError("The other node's reply is invalid")
  const optional = { ...(isJsonObject(details) && { details }), ...(isJsonObject(extra) && { extra }) }
  return new ProtocolError({ code, message, ...optional })
}

const textReply = (id: number, kind: number, content: string): OutgoingFrame => ({
  kind,
  maxFieldBytes: 4,
  writeFields: (writer) => writer.u32(id),
  content
})

/** Maximum values of an acknowledgement. The protocol has two. */
const maxReplyValues = 64

const bodiesReply = (id: number, bodies: ReadonlyArray<Body>): OutgoingFrame => {
  const contents: Array<Content> = []
  const isFaulty: Array<boolean> = []
  for (const body of bodies) {
    const content = serializeBody(body)
    contents.push(Result.isSuccess(content) ? content.success : encodeError(content.failure))
    isFaulty.push(Result.isFailure(content))
  }
  const [single = ""] = contents
  const parts = contents.length > 1 ? contents.map(toBytes) : []
  return {
    kind: frameKinds.reply,
    maxFieldBytes: 5 + isFaulty.length * 5,
    writeFields: (writer) => {
      writer.u32(id).u8(isFaulty.length)
      for (const faulty of isFaulty) writer.u8(faulty ? 1 : 0)
      for (const { length } of parts) writer.u32(length)
    },
    content: contents.length > 1 ? Buffer.concat(parts) : single
  }
}

export const replyFrame = (id: number, exit: ReplyExit): OutgoingFrame => {
  if (Exit.isSuccess(exit)) {
    return exit.value.length > maxReplyValues
      ? rejectedReply(id, internalError(`An acknowledgement has at most ${maxReplyValues} values`))
      : bodiesReply(id, exit.value)
  }
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  switch (error?._tag) {
    case "LinkClosed":
      return textReply(id, frameKinds.linkClosed, error.reason)
    case "SendFailed":
      return rejectedReply(id, error.error)
    case "RequestTimeout": {
      const millis = Duration.toMillis(error.timeout)
      const writeFields: OutgoingFrame["writeFields"] = (writer) => writer.u32(id).f64(millis)
      return { kind: frameKinds.timedOut, maxFieldBytes: 12, writeFields, content: "" }
    }
    case undefined:
      return rejectedReply(id, internalError("Internal error"))
  }
}

export const rejectedReply = (id: number, error: ProtocolError): OutgoingFrame =>
  textReply(id, frameKinds.rejected, encodeError(error))

/** Decodes a reply; `undefined` when it is invalid. */
export const decodeReplyFrame = (
  kind: number,
  fields: MessageReader,
  reassembled: Buffer | undefined
): ReplyExit | undefined => {
  switch (kind) {
    case frameKinds.reply: {
      const count = fields.u8()
      const isFaulty: Array<boolean> = []
      while (isFaulty.length < count) isFaulty.push(fields.u8() === 1)
      if (count === 1 && isFaulty[0] === false) {
        const body = decodeFrameBody(fields, reassembled)
        return fields.isTruncated ? undefined : Exit.succeed([body])
      }
      const lengths: Array<number> = []
      while (count > 1 && lengths.length < count) lengths.push(fields.u32())
      const json = remainingJson(fields, reassembled)
      if (count === 1) lengths.push(json.length)
      if (fields.isTruncated || lengths.reduce((sum, length) => sum + length, 0) !== json.length) return undefined
      let from = 0
      return Exit.succeed(
        lengths.map((length, index) => {
          const part = json.subarray(from, (from += length))
          return isFaulty[index] === true ? invalidBody(decodeError(part)) : makeBody(part)
        })
      )
    }
    case frameKinds.linkClosed:
      return Exit.fail(new LinkClosed({ reason: remainingJson(fields, reassembled).toString() }))
    case frameKinds.timedOut:
      return Exit.fail(new RequestTimeout({ timeout: Duration.millis(fields.f64()) }))
    case frameKinds.rejected:
      return Exit.fail(new SendFailed({ error: decodeError(remainingJson(fields, reassembled)) }))
    default:
      return undefined
  }
}

export interface NodeRequestFrame {
  readonly to: RequestTarget
  readonly event: string
  readonly content: Content
  readonly timeout: Duration.Duration
}

export const requestFrame = (
  id: number,
  timeoutMillis: number,
  { content, event, to: { office, sid } }: Omit<NodeRequestFrame, "timeout">
): OutgoingFrame => ({
  kind: frameKinds.request,
  maxFieldBytes: 12 + maxStringBytes(sid) + maxStringBytes(office) + maxStringBytes(event),
  writeFields: (writer) => writer.u32(id).f64(timeoutMillis).string(sid).string(office).string(event),
  content
})

export const notificationFrame = (sids: ReadonlyArray<string>, event: string, content: Content): OutgoingFrame => ({
  kind: frameKinds.notify,
  maxFieldBytes: sids.reduce((sum, sid) => sum + maxStringBytes(sid), 4 + maxStringBytes(event)),
  writeFields: (writer) => {
    writer.string(event).u32(sids.length)
    for (const sid of sids) writer.string(sid)
  },
  content
})

/** Decodes a notification; `undefined` when it is invalid. */
export const decodeNotificationFrame = (fields: MessageReader, reassembled: Buffer | undefined) => {
  const event = fields.string()
  const count = fields.u32()
  const sids: Array<string> = []
  while (sids.length < count && !fields.isTruncated) sids.push(fields.string())
  const body = decodeFrameBody(fields, reassembled)
  return fields.isTruncated ? undefined : { event, sids, body }
}

export const addressFrame = ({ host, port, secret }: DirectAddress): OutgoingFrame => ({
  kind: frameKinds.address,
  maxFieldBytes: maxStringBytes(host) + 4,
  writeFields: (writer) => writer.string(host).u32(port),
  content: secret
})

/** Decodes the address of a node; `undefined` when it is invalid. */
export const decodeAddress = (fields: MessageReader): DirectAddress | undefined => {
  const host = fields.string()
  const port = fields.u32()
  // A copy: the frame is a part of a message, which may be long.
  const secret = Buffer.from(fields.rest())
  const isValid = !fields.isTruncated && host !== "" && port > 0 && port < 65_536 && secret.length === secretBytes
  return isValid ? { host, port, secret } : undefined
}

export const redirectedFrame = (id: number): OutgoingFrame => ({
  kind: frameKinds.redirected,
  maxFieldBytes: 4,
  writeFields: (writer) => writer.u32(id),
  content: ""
})
