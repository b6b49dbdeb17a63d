import { Effect } from "effect"
import { smallInlineBytes } from "../../../domain/blobs/binaryContent.ts"
import type { OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { asObject, type JsonObject } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import type { McpOutcome } from "../../../domain/model/messages/mcp.ts"
import { payloadTooLarge } from "../../../domain/model/ProtocolError.ts"
import type { SkillRef } from "../../../domain/model/messages/requests.ts"
import type { Tool } from "../../../domain/model/Tool.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { toolFailed } from "../../../domain/tools/errorResults.ts"
import { removeTransformedEvent } from "../../../domain/tools/vrl.ts"
import type { Calls, ReplyFields } from "../../../domain/wire/calls.ts"
import type { CallDefinition } from "../../../domain/wire/defineCall.ts"
import type { OfficeMember } from "../../member/OfficeMember.ts"
import { type Body, jsonBody } from "../../ports/Body.ts"
import type { ComputerServices } from "./computerServices.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

const ownersBySize = <A>(items: ReadonlyArray<A>, ownerOf: (item: A) => string): ReadonlyArray<string> => {
  const sizeOf = (owned: ReadonlyArray<A>) => owned.reduce((sum, item) => sum + jsonBody(item).byteLength(), 0)
  const sizes = [...Map.groupBy(items, ownerOf)].map(([owner, owned]) => ({ owner, size: sizeOf(owned) }))
  return sizes.sort((one, other) => other.size - one.size).map(({ owner }) => owner)
}

/**
 * Fits a list into a reply. Omits all items of the largest owners, as few owners as possible, so that one owner cannot
 * hide the others. Gives `undefined` when the items of no owner fit.
 */
export const truncateToFit = <A>(
  items: ReadonlyArray<A>,
  ownerOf: (item: A) => string,
  encode: (items: ReadonlyArray<A>) => Body,
  fits: (body: Body) => boolean
): { readonly body: Body; readonly omitted: ReadonlyArray<string> } | undefined => {
  const whole = encode(items)
  if (fits(whole)) return { body: whole, omitted: [] }
  const owners = ownersBySize(items, ownerOf)
  // A binary search: every attempt serializes a message.
  let tooFew = 0
  let enough = owners.length
  let found: Body | undefined
  while (enough - tooFew > 1) {
    const count = Math.floor((tooFew + enough) / 2)
    const omitted = new Set(owners.slice(0, count))
    const body = encode(items.filter((item) => !omitted.has(ownerOf(item))))
    if (fits(body)) [enough, found] = [count, body]
    else tooFew = count
  }
  return found && { body: found, omitted: owners.slice(0, enough) }
}

/** The members of a reply beside the result of a task. */
const taskReplyRoom = "x".repeat(4096)

const mcpReplyTooLarge: McpOutcome = {
  failure: { code: jsonRpcCodes.internalError, message: "The result exceeds the message size limit" }
}

type ReplyRow<Reply> = Pick<CallDefinition<never, Reply>, "event" | "reply">

/** The encoders of replies that fit in part; the others fail when they exceed a message. */
type ReplyEncoders = {
  readonly [K in keyof Calls]?: (result: ReplyFields<K>, caller: OfficeCaller, reqId: RequestId) => Effect.Effect<Body>
}

/** The first line of a rendered window is its URI. */
const windowUriOf = (rendered: string): string => rendered.split("\n", 1)[0] ?? ""

/** Makes the functions that encode replies, which fit into a message: as a whole, in part, or as an error. */
export const makeReplyEncoders = (
  { fits, line, maxBytes }: OfficeMember,
  { blobs, servers }: Pick<ComputerServices, "blobs" | "servers">
) => {
  const { getDesktop, getTools, mcp, skills, toolCall } = line.calls
  /** The body that replaces a reply above the message size limit (case 152). */
  const tooLargeBody = () => jsonBody(line.encodeProtocolError(payloadTooLarge(maxBytes())))

  /** Encodes a result as it is, or else what fits: without the transformed event, then with more data in blobs. */
  const reduceToolResult = Effect.fnUntraced(function* <A>(
    result: ToolResult,
    caller: OfficeCaller,
    encode: (result: ToolResult) => A,
    isFitting: (encoded: A) => boolean
  ): Effect.fn.Return<A> {
    let reduced = result
    for (const budget of [line.inlineBytes, undefined, smallInlineBytes, 0]) {
      reduced =
        budget === undefined ? removeTransformedEvent(reduced) : yield* blobs.externalize(reduced, caller, budget)
      const encoded = encode(reduced)
      if (isFitting(encoded)) return encoded
    }
    return encode(toolFailed("The result exceeds the message size limit"))
  })
  const encodeResult = (result: ToolResult) => toolCall.reply.encode(result)
  const fitsTaskReply = (encoded: JsonObject) => fits(jsonBody({ encoded, room: taskReplyRoom }))

  /** Encodes a list without the items of the largest owners where the whole one does not fit. */
  const encodeList = <Reply, A>(
    { event, reply }: ReplyRow<Reply>,
    items: ReadonlyArray<A>,
    ownerOf: (item: A) => string,
    replyWith: (items: ReadonlyArray<A>) => Reply
  ): Effect.Effect<Body> => {
    const truncated = truncateToFit(items, ownerOf, (some) => jsonBody(reply.encode(replyWith(some))), fits)
    if (truncated === undefined) return Effect.succeed(tooLargeBody())
    const { body, omitted } = truncated
    if (omitted.length === 0) return Effect.succeed(body)
    return Effect.as(Effect.logWarning("reply truncated", { event, omitted }), body)
  }
  const encoders: ReplyEncoders = {
    // The result of a tool has the members that its MCP server gave it, and no others.
    toolCall: (result, caller) => reduceToolResult(result, caller, (some) => jsonBody(encodeResult(some)), fits),
    getTools: (result, _, reqId) => {
      const { entries } = servers.snapshot().catalogue
      const ownerOf = ({ name }: Tool) => entries.get(name)?.server ?? ""
      return encodeList(getTools, result.tools, ownerOf, (tools) => ({ ...result, reqId, tools }))
    },
    getDesktop: (result, _, reqId) =>
      encodeList(getDesktop, result.desktops, windowUriOf, (desktops) => ({ desktops, reqId })),
    skills: (result, _, reqId) => {
      const ownerOf = ({ source }: SkillRef) => source
      return encodeList(skills, result.skills, ownerOf, (some) => ({ skills: some, reqId }))
    },
    /** Encodes the result of an MCP server, or the error of one that is too large. */
    mcp: (outcome, _, reqId) => {
      const bodyOf = (some: McpOutcome) => jsonBody(mcp.reply.encode({ ...some, reqId }))
      const body = bodyOf(outcome)
      return Effect.succeed(fits(body) ? body : bodyOf(mcpReplyTooLarge))
    }
  }

  return {
    encoders,
    encodeWhole: <Reply>({ reply }: ReplyRow<Reply>, value: Reply): Effect.Effect<Body> => {
      const body = jsonBody(reply.encode(value))
      return Effect.succeed(fits(body) ? body : tooLargeBody())
    },
    /** Encodes the result of a task for a reply that has more members than it. */
    encodeTaskResult: (result: ToolResult, caller: OfficeCaller): Effect.Effect<JsonObject> =>
      reduceToolResult(result, caller, (some) => asObject(encodeResult(some)), fitsTaskReply)
  }
}
