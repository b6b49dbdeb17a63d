import { Duration, Exit, Result } from "effect"
import { type Body, faultyBody } from "../../application/ports/Body.ts"
import { type Asked, LinkClosed, NoAnswer, NotSent } from "../../application/ports/Transport.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { internal, Refusal } from "../../domain/refusal.ts"
import { textBody } from "../bytes/TextBody.ts"
import { boundOf, type FrameReader, type FrameWriter, kinds } from "./frames.ts"

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
  readonly text: string
}

const plain = (id: number, kind: number, text: string): Ending => ({
  kind,
  bound: 4,
  write: (writer) => writer.u32(id),
  text
})

/** Most values of an acknowledgement that go over the wire. The protocol knows two. */
const mostValues = 64

const answered = (id: number, bodies: ReadonlyArray<Body>): Ending => {
  const texts: Array<string> = []
  const faults: Array<boolean> = []
  for (const body of bodies) {
    const text = body.text()
    texts.push(Result.isSuccess(text) ? text.success : writeRefusal(text.failure))
    faults.push(Result.isFailure(text))
  }
  const [only] = texts
  return {
    kind: kinds.answer,
    bound: 5 + texts.length * 5,
    write: (writer) => {
      writer.u32(id).u8(texts.length)
      for (const [index, text] of texts.entries()) writer.u8(faults[index] === true ? 1 : 0).u32(text.length)
    },
    text: texts.length === 1 && only !== undefined ? only : texts.join("")
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
        return { kind: kinds.noAnswer, bound: 12, write: (writer) => writer.u32(id).f64(after), text: "" }
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
  long: string | undefined
): Asked | undefined => {
  switch (kind) {
    case kinds.answer: {
      const count = fields.u8()
      const faults: Array<boolean> = []
      const lengths: Array<number> = []
      for (let index = 0; index < count; index++) {
        faults.push(fields.u8() === 1)
        lengths.push(fields.u32())
      }
      const text = long ?? fields.text()
      if (fields.failed || lengths.reduce((sum, length) => sum + length, 0) !== text.length) return undefined
      let from = 0
      return Exit.succeed(
        lengths.map((length, index) => {
          const own = count === 1 ? text : text.slice(from, from + length)
          from += length
          return faults[index] === true ? faultyBody(readRefusal(own)) : textBody(own)
        })
      )
    }
    case kinds.closed:
      return Exit.fail(new LinkClosed({ reason: long ?? fields.text() }))
    case kinds.noAnswer:
      return Exit.fail(new NoAnswer({ after: Duration.millis(fields.f64()) }))
    case kinds.refused:
      return Exit.fail(new NotSent({ refusal: readRefusal(long ?? fields.text()) }))
    default:
      return undefined
  }
}

/** A request for the wire; {@link boundOfRequest} says how long it gets at most, without its text. */
export const writeRequest = (
  writer: FrameWriter,
  id: number,
  deadline: number,
  sid: string,
  event: string
): FrameWriter => writer.u32(id).f64(deadline).string(sid).string(event)

export const boundOfRequest = (sid: string, event: string): number => 12 + boundOf(sid) + boundOf(event)

/** A tell for the wire, likewise. */
export const writeTell = (writer: FrameWriter, sids: ReadonlyArray<string>, event: string): FrameWriter => {
  writer.string(event).u32(sids.length)
  for (const sid of sids) writer.string(sid)
  return writer
}

export const boundOfTell = (sids: ReadonlyArray<string>, event: string): number =>
  sids.reduce((sum, sid) => sum + boundOf(sid), 4 + boundOf(event))
