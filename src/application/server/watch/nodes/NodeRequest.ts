import { Schema } from "effect"
import { isJsonObject } from "../../../../domain/json.ts"
import { Identifier } from "../../../../domain/model/fields.ts"
import { Right } from "../../../../domain/model/Identity.ts"
import { ProtocolError } from "../../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import { PageCallRequest, PageCommand, type PageCallMessage } from "../../../../domain/page/PageCommand.ts"
import type { PageBatch } from "../../../../domain/page/PageEvent.ts"
import { makeCodec } from "../../../../domain/validation.ts"
import type { Operator } from "../../../shared/page/PageSource.ts"

/** The event of requests between nodes for their operators. */
export const operatorsEvent = "a2c:operators"

const Texts = Schema.Array(Schema.String)

const OperatorFields = Schema.Struct({
  subject: Schema.String,
  isShared: Schema.optionalKey(Schema.Boolean),
  rights: Schema.Array(Right),
  offices: Texts,
  names: Texts,
  expiresAt: Schema.optionalKey(Schema.Finite),
  remoteAddress: Schema.String
})

/** An operator whom another node has authenticated. */
export type NodeOperator = typeof OperatorFields.Type

export const toNodeOperator = ({ identity, remoteAddress }: Operator): NodeOperator => {
  const { expiresAt, grants, isShared, subject } = identity
  return { subject, ...grants, remoteAddress, ...definedOnly({ expiresAt, isShared }) }
}

export const fromNodeOperator = (operator: NodeOperator): Operator => {
  const { expiresAt, isShared, names, offices, remoteAddress, rights, subject } = operator
  const grants = { rights, offices, names }
  return { identity: { subject, grants, expiresAt, ...definedOnly({ isShared }) }, remoteAddress }
}

/** Opens a page's stream of the other node; the reply is its snapshot. */
const OpenPage = Schema.TaggedStruct("OpenPage", {})
/** Starts a call at the other node; the reply is a {@link OpenedStream}. */
const OpenCall = Schema.TaggedStruct("OpenCall", { call: PageCallRequest, operator: OperatorFields })
/** Waits for the next messages of a stream; the reply is a {@link NextMessages}. */
const Next = Schema.TaggedStruct("Next", { stream: Identifier })
const Close = Schema.TaggedStruct("Close", { stream: Identifier })
/** Executes a command at the other node; the reply is that of the command. */
const Execute = Schema.TaggedStruct("Execute", { command: PageCommand, operator: OperatorFields })

const NodeRequest = Schema.Union([OpenPage, OpenCall, Next, Close, Execute])

/** A request of one node to another for an operator. Its reply is the value, or an `error`. */
export type NodeRequest = typeof NodeRequest.Type

export const nodeRequestCodec = makeCodec(NodeRequest)

export interface OpenedStream {
  readonly stream: string
}

export interface NextMessages {
  /** Empty when none has arrived in time. */
  readonly messages: ReadonlyArray<PageBatch | PageCallMessage>
  /** The stream has ended. */
  readonly isLast: boolean
}

export const encodeNodeReply = (value: object): unknown => ({ value })

export const encodeNodeError = ({ code, message }: ProtocolError): unknown => ({ error: { code, message } })

/** The value of a reply, or the error in its place; `undefined` for a malformed one. */
export const decodeNodeReply = (reply: unknown): object | ProtocolError | undefined => {
  if (!isJsonObject(reply)) return undefined
  const { error, value } = reply
  if (isJsonObject(error) && typeof error["code"] === "number")
    return new ProtocolError({ code: error["code"], message: String(error["message"]) })
  return isJsonObject(value) ? value : undefined
}
