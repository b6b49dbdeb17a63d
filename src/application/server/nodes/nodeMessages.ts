import { Duration, Exit, Option, Result } from "effect"
import { asObject, asString, isJsonObject, parseJson } from "../../../domain/json.ts"
import { internalError, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { type Body, invalidBody, jsonBody } from "../../ports/Body.ts"
import { LinkClosed, type Reply, type ReplyExit, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import type { RequestTarget } from "./NodeMessageHandler.ts"

/**
 * What a node asks of another. All but the body travels in the event name of the transport: bodies pass unread.
 */
export type NodeMessage =
  | {
      readonly _tag: "Request"
      /** Unique among the requests of the sender. */
      readonly id: number
      readonly timeout: Duration.Duration
      readonly to: RequestTarget
      readonly event: string
    }
  /** Cancels a request. */
  | { readonly _tag: "Cancel"; readonly id: number }
  | { readonly _tag: "Notify"; readonly sids: ReadonlyArray<string>; readonly event: string }

export const encodeNodeMessage = (message: NodeMessage): string => {
  switch (message._tag) {
    case "Request": {
      const { event, id, timeout, to } = message
      return JSON.stringify(["request", id, Duration.toMillis(timeout), to.sid, to.office, event])
    }
    case "Cancel":
      return JSON.stringify(["cancel", message.id])
    case "Notify":
      return JSON.stringify(["notify", message.sids, message.event])
  }
}

const asList = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** Decodes the event name of a message; `undefined` when it is invalid. */
export const decodeNodeMessage = (text: string): NodeMessage | undefined => {
  const [kind, first, second, ...rest] = asList(parseJson(text))
  if (kind === "notify" && Array.isArray(first) && typeof second === "string") {
    return { _tag: "Notify", sids: first.map(String), event: second }
  }
  if (typeof first !== "number") return undefined
  if (kind === "cancel") return { _tag: "Cancel", id: first }
  const [sid, office, event] = rest
  if (kind !== "request" || typeof second !== "number") return undefined
  if (typeof sid !== "string" || typeof office !== "string" || typeof event !== "string") return undefined
  return { _tag: "Request", id: first, timeout: Duration.millis(second), to: { sid, office }, event }
}

const encodeError = ({ code, details, extra, message }: ProtocolError) => ({ code, message, details, extra })

const decodeError = (value: unknown): ProtocolError => {
  const { code, message, details, extra } = asObject(value)
  if (typeof code !== "number" || typeof message !== "string") return internalError("The other node's reply is invalid")
  const optional = { ...(isJsonObject(details) && { details }), ...(isJsonObject(extra) && { extra }) }
  return new ProtocolError({ code, message, ...optional })
}

/** True for a body without a known error. Costs no parse. */
const isUsable = (body: Body): boolean => !body.isHeadParsed || Result.isSuccess(body.head)

const encodeFailure = (error: LinkClosed | RequestTimeout | SendFailed | undefined): object => {
  switch (error?._tag) {
    case "LinkClosed":
      return { closed: error.reason }
    case "RequestTimeout":
      return { timedOut: Duration.toMillis(error.timeout) }
    case "SendFailed":
      return { rejected: encodeError(error.error) }
    case undefined:
      return { rejected: encodeError(internalError("Internal error")) }
  }
}

const encodeValues = (reply: Reply): object => ({
  values: reply.map((body) =>
    Result.match(body.value(), {
      onFailure: (error) => ({ error: encodeError(error) }),
      onSuccess: (value) => ({ value })
    })
  )
})

/** The outcome of a request as an acknowledgement. One value passes unread; a second one marks any other outcome. */
export const encodeOutcome = (exit: ReplyExit): Reply => {
  if (Exit.isSuccess(exit)) {
    const [only] = exit.value
    const isPlain = exit.value.length === 1 && only !== undefined && isUsable(only)
    if (isPlain) return exit.value
  }
  const outcome = Exit.isSuccess(exit)
    ? encodeValues(exit.value)
    : encodeFailure(Option.getOrUndefined(Exit.findErrorOption(exit)))
  return [jsonBody(outcome), jsonBody(null)]
}

/** Decodes an acknowledgement; `undefined` when it is invalid. */
export const decodeOutcome = (reply: Reply): ReplyExit | undefined => {
  const [first] = reply
  if (first === undefined || reply.length === 1) return first && Exit.succeed(reply)
  const { closed, rejected, timedOut, values } = asObject(Result.getOrUndefined(first.value()))
  if (Array.isArray(values)) {
    return Exit.succeed(
      values
        .map(asObject)
        .map(({ error, value }) => (error === undefined ? jsonBody(value) : invalidBody(decodeError(error))))
    )
  }
  if (typeof timedOut === "number") return Exit.fail(new RequestTimeout({ timeout: Duration.millis(timedOut) }))
  if (rejected !== undefined) return Exit.fail(new SendFailed({ error: decodeError(rejected) }))
  const reason = asString(closed)
  return reason === undefined ? undefined : Exit.fail(new LinkClosed({ reason }))
}
