import { Duration, Exit, Result } from "effect"
import { type Body, faultyBody } from "../../application/ports/Body.ts"
import type { Addressee } from "../../application/ports/NodeLink.ts"
import { type Asked, LinkClosed, NoAnswer, NotSent } from "../../application/ports/Transport.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { internal, Refusal } from "../../domain/refusal.ts"
import { RawBody } from "../bytes/RawBody.ts"
import { textBody } from "../bytes/TextBody.ts"
import { boundOf, bytesOf, type Content, type FrameReader, type FrameWriter, kinds } from "./frames.ts"

/** Bodies up to this size become text: soon done, and then they take no memory but the heap's. */
const mostText = 16 * 1024

/** What ends the packet of Socket.IO in which a body goes on to a member. */
const closeBracket = 0x5d

/** The text of a body as it is at hand, or why there is none. */
export const contentOf = (body: Body): Result.Result<Content, Refusal> =>
  body instanceof RawBody ? Result.succeed(body.json) : body.text()

/** A body that came in a part of a message. Its sender has checked it. */
const bodyIn = (json: Buffer): Body => {
  if (json.length <= mostText) return textBody(json.toString("utf8"))
  const tail = Buffer.allocUnsafeSlow(json.length + 1)
  tail.set(json)
  tail[json.length] = closeBracket
  return RawBody.unread(tail)
}

/** The body behind the fields of a frame; `long` is where it came in pieces, with a bracket after it. */
export const readBody = (fields: FrameReader, long: Buffer | undefined): Body =>
  long === undefined ? bodyIn(fields.rest()) : RawBody.unread(long)

const readJson = (fields: FrameReader, long: Buffer | undefined): Buffer =>
  long?.subarray(0, long.length - 1) ?? fields.rest()

const readText = (fields: FrameReader, long: Buffer | undefined): string =>
  readJson(fields, long).toString("utf8")

const writeRefusal = ({ code, details, extra, message }: Refusal): string =>
  JSON.stringify({ code, message, details, extra })

const readObject = (value: unknown): JsonObject | undefined => (isJsonObject(value) ? value : undefined)

const readRefusal = (text: string): Refusal => {
  const value = Result.try((): unknown => JSON.parse(text))
  const object = Result.isSuccess(value) ? readObject(value.success) : undefined
  const { code, message } = object ?? {}
  if (object === undefined || typeof code !== "number" || typeof message !== "string") {
    return internal("The other node's answer cannot be read")
  }
  const details = readObject(object["details"])
  const extra = readObject(object["extra"])
  return new Refusal({
    code,
    message,
    ...(details !== undefined && { details }),
    ...(extra !== undefined && { extra })
  })
}

/** How a request ended, as it goes over the wire: some fields and a text. */
export interface Ending {
  readonly kind: number
  /** Most bytes of the fields. */
  readonly bound: number
  readonly write: (writer: FrameWriter) => unknown
  readonly content: Content
}

const plain = (id: number, kind: number, content: string): Ending => ({
  kind,
  bound: 4,
  write: (writer) => writer.u32(id),
  content
})

/** Most values of an acknowledgement that go over the wire. The protocol knows two. */
const mostValues = 64

const answered = (id: number, bodies: ReadonlyArray<Body>): Ending => {
  const contents: Array<Content> = []
  const faults: Array<boolean> = []
  for (const body of bodies) {
    const content = contentOf(body)
    contents.push(Result.isSuccess(content) ? content.success : writeRefusal(content.failure))
    faults.push(Result.isFailure(content))
  }
  const [only = ""] = contents
  const parts = contents.length > 1 ? contents.map(bytesOf) : []
  return {
    kind: kinds.answer,
    bound: 5 + faults.length * 5,
    write: (writer) => {
      writer.u32(id).u8(faults.length)
      for (const fault of faults) writer.u8(fault ? 1 : 0)
      for (const { length } of parts) writer.u32(length)
    },
    content: contents.length > 1 ? Buffer.concat(parts) : only
  }
}

/** How the request of this id ended, for the wire. */
export const endingOf = (id: number, asked: Asked): Ending => {
  if (Exit.isSuccess(asked)) {
    return asked.value.length > mostValues
      ? refused(id, internal(`An acknowledgement has at most ${mostValues} values`))
      : answered(id, asked.value)
  }
  for (const reason of asked.cause.reasons) {
    if (reason._tag !== "Fail") continue
    const { error } = reason
    switch (error._tag) {
      case "LinkClosed":
        return plain(id, kinds.closed, error.reason)
      case "NotSent":
        return refused(id, error.refusal)
      case "NoAnswer": {
        const after = Duration.toMillis(error.after)
        return { kind: kinds.noAnswer, bound: 12, write: (writer) => writer.u32(id).f64(after), content: "" }
      }
    }
  }
  return refused(id, internal("Internal error"))
}

/** The member was not asked, or has answered with something that cannot go. */
export const refused = (id: number, refusal: Refusal): Ending =>
  plain(id, kinds.refused, writeRefusal(refusal))

/** What another node says about how a request ended; `undefined` when it cannot be read. */
export const readEnding = (
  kind: number,
  fields: FrameReader,
  long: Buffer | undefined
): Asked | undefined => {
  switch (kind) {
    case kinds.answer: {
      const count = fields.u8()
      const faults: Array<boolean> = []
      while (faults.length < count) faults.push(fields.u8() === 1)
      if (count === 1 && faults[0] === false) {
        const body = readBody(fields, long)
        return fields.failed ? undefined : Exit.succeed([body])
      }
      const lengths: Array<number> = []
      while (count > 1 && lengths.length < count) lengths.push(fields.u32())
      const all = readJson(fields, long)
      if (count === 1) lengths.push(all.length)
      if (fields.failed || lengths.reduce((sum, length) => sum + length, 0) !== all.length) return undefined
      let from = 0
      return Exit.succeed(
        lengths.map((length, index) => {
          const own = all.subarray(from, (from += length))
          return faults[index] === true ? faultyBody(readRefusal(own.toString("utf8"))) : bodyIn(own)
        })
      )
    }
    case kinds.closed:
      return Exit.fail(new LinkClosed({ reason: readText(fields, long) }))
    case kinds.noAnswer:
      return Exit.fail(new NoAnswer({ after: Duration.millis(fields.f64()) }))
    case kinds.refused:
      return Exit.fail(new NotSent({ refusal: readRefusal(readText(fields, long)) }))
    default:
      return undefined
  }
}

/** A request for the wire; {@link boundOfRequest} says how long it gets at most, without its text. */
export const writeRequest = (
  writer: FrameWriter,
  id: number,
  deadline: number,
  { office, sid }: Addressee,
  event: string
): FrameWriter => writer.u32(id).f64(deadline).string(sid).string(office).string(event)

export const boundOfRequest = ({ office, sid }: Addressee, event: string): number =>
  12 + boundOf(sid) + boundOf(office) + boundOf(event)

/** A tell for the wire, likewise. */
export const writeTell = (writer: FrameWriter, sids: ReadonlyArray<string>, event: string): FrameWriter => {
  writer.string(event).u32(sids.length)
  for (const sid of sids) writer.string(sid)
  return writer
}

/** A tell as it came; `undefined` when it cannot be read. */
export const readTell = (fields: FrameReader, long: Buffer | undefined) => {
  const event = fields.string()
  const count = fields.u32()
  const sids: Array<string> = []
  while (sids.length < count && !fields.failed) sids.push(fields.string())
  const body = readBody(fields, long)
  return fields.failed ? undefined : { event, sids, body }
}

export const boundOfTell = (sids: ReadonlyArray<string>, event: string): number =>
  sids.reduce((sum, sid) => sum + boundOf(sid), 4 + boundOf(event))
