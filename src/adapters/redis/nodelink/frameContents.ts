import { Duration, Exit, Result } from "effect"
import { type Body, invalidBody } from "../../../application/ports/Body.ts"
import type { RequestTarget } from "../../../application/ports/NodeLink.ts"
import {
  type ReplyExit,
  LinkClosed,
  RequestTimeout,
  SendFailed
} from "../../../application/ports/Transport.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { internalError, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { RawBody } from "../../bytes/RawBody.ts"
import { textBody } from "../../bytes/TextBody.ts"
import {
  maxStringBytes,
  toBytes,
  type Content,
  type MessageReader,
  type MessageWriter,
  frameKinds
} from "./messageFormat.ts"

/** Bodies up to this size become text: soon done, and then they take no memory but the heap's. */
const maxTextBytes = 16 * 1024

/** What ends the packet of Socket.IO in which a body goes on to a member. */
const closeBracket = 0x5d

/** The text of a body as it is at hand, or why there is none. */
export const serializeBody = (body: Body): Result.Result<Content, ProtocolError> =>
  body instanceof RawBody ? Result.succeed(body.json) : body.text()

/** A body that came in a part of a message. Its sender has checked it. */
const makeBody = (json: Buffer): Body => {
  if (json.length <= maxTextBytes) return textBody(json.toString("utf8"))
  const tail = Buffer.allocUnsafeSlow(json.length + 1)
  tail.set(json)
  tail[json.length] = closeBracket
  return RawBody.unparsed(tail)
}

/** The body behind the fields of a frame; `long` is where it came in pieces, with a bracket after it. */
export const decodeFrameBody = (fields: MessageReader, reassembled: Buffer | undefined): Body =>
  reassembled === undefined ? makeBody(fields.rest()) : RawBody.unparsed(reassembled)

const remainingJson = (fields: MessageReader, reassembled: Buffer | undefined): Buffer =>
  reassembled?.subarray(0, reassembled.length - 1) ?? fields.rest()

const decodeText = (fields: MessageReader, reassembled: Buffer | undefined): string =>
  remainingJson(fields, reassembled).toString("utf8")

const encodeError = ({ code, details, extra, message }: ProtocolError): string =>
  JSON.stringify({ code, message, details, extra })

const objectOrUndefined = (value: unknown): JsonObject | undefined =>
  isJsonObject(value) ? value : undefined

const decodeError = (text: string): ProtocolError => {
  const value = Result.try((): unknown => JSON.parse(text))
  const object = Result.isSuccess(value) ? objectOrUndefined(value.success) : undefined
  const { code, message } = object ?? {}
  if (object === undefined || typeof code !== "number" || typeof message !== "string") {
    return internalError("The other node's answer cannot be read")
  }
  const details = objectOrUndefined(object["details"])
  const extra = objectOrUndefined(object["extra"])
  return new ProtocolError({
    code,
    message,
    ...(details !== undefined && { details }),
    ...(extra !== undefined && { extra })
  })
}

/** How a request ended, as it goes over the wire: some fields and a text. */
export interface ReplyFrame {
  readonly kind: number
  /** Most bytes of the fields. */
  readonly maxFieldBytes: number
  readonly writeFields: (writer: MessageWriter) => unknown
  readonly content: Content
}

const textReply = (id: number, kind: number, content: string): ReplyFrame => ({
  kind,
  maxFieldBytes: 4,
  writeFields: (writer) => writer.u32(id),
  content
})

/** Most values of an acknowledgement that go over the wire. The protocol knows two. */
const maxReplyValues = 64

const bodiesReply = (id: number, bodies: ReadonlyArray<Body>): ReplyFrame => {
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

/** How the request of this id ended, for the wire. */
export const encodeReply = (id: number, exit: ReplyExit): ReplyFrame => {
  if (Exit.isSuccess(exit)) {
    return exit.value.length > maxReplyValues
      ? rejectedReply(id, internalError(`An acknowledgement has at most ${maxReplyValues} values`))
      : bodiesReply(id, exit.value)
  }
  for (const reason of exit.cause.reasons) {
    if (reason._tag !== "Fail") continue
    const { error } = reason
    switch (error._tag) {
      case "LinkClosed":
        return textReply(id, frameKinds.linkClosed, error.reason)
      case "SendFailed":
        return rejectedReply(id, error.error)
      case "RequestTimeout": {
        const after = Duration.toMillis(error.timeout)
        return {
          kind: frameKinds.timedOut,
          maxFieldBytes: 12,
          writeFields: (writer) => writer.u32(id).f64(after),
          content: ""
        }
      }
    }
  }
  return rejectedReply(id, internalError("Internal error"))
}

/** The member was not asked, or has answered with something that cannot go. */
export const rejectedReply = (id: number, error: ProtocolError): ReplyFrame =>
  textReply(id, frameKinds.rejected, encodeError(error))

/** What another node says about how a request ended; `undefined` when it cannot be read. */
export const decodeReply = (
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
      if (fields.isTruncated || lengths.reduce((sum, length) => sum + length, 0) !== json.length)
        return undefined
      let from = 0
      return Exit.succeed(
        lengths.map((length, index) => {
          const part = json.subarray(from, (from += length))
          return isFaulty[index] === true ? invalidBody(decodeError(part.toString("utf8"))) : makeBody(part)
        })
      )
    }
    case frameKinds.linkClosed:
      return Exit.fail(new LinkClosed({ reason: decodeText(fields, reassembled) }))
    case frameKinds.timedOut:
      return Exit.fail(new RequestTimeout({ timeout: Duration.millis(fields.f64()) }))
    case frameKinds.rejected:
      return Exit.fail(new SendFailed({ error: decodeError(decodeText(fields, reassembled)) }))
    default:
      return undefined
  }
}

/** A request for the wire; {@link maxRequestBytes} says how long it gets at most, without its text. */
export const writeRequestFields = (
  writer: MessageWriter,
  id: number,
  timeoutMillis: number,
  { office, sid }: RequestTarget,
  event: string
): MessageWriter => writer.u32(id).f64(timeoutMillis).string(sid).string(office).string(event)

export const maxRequestBytes = ({ office, sid }: RequestTarget, event: string): number =>
  12 + maxStringBytes(sid) + maxStringBytes(office) + maxStringBytes(event)

/** A tell for the wire, likewise. */
export const writeNotificationFields = (
  writer: MessageWriter,
  sids: ReadonlyArray<string>,
  event: string
): MessageWriter => {
  writer.string(event).u32(sids.length)
  for (const sid of sids) writer.string(sid)
  return writer
}

/** A tell as it came; `undefined` when it cannot be read. */
export const decodeNotification = (fields: MessageReader, reassembled: Buffer | undefined) => {
  const event = fields.string()
  const count = fields.u32()
  const sids: Array<string> = []
  while (sids.length < count && !fields.isTruncated) sids.push(fields.string())
  const body = decodeFrameBody(fields, reassembled)
  return fields.isTruncated ? undefined : { event, sids, body }
}

export const maxNotificationBytes = (sids: ReadonlyArray<string>, event: string): number =>
  sids.reduce((sum, sid) => sum + maxStringBytes(sid), 4 + maxStringBytes(event))
