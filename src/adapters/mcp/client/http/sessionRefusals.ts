import { asObject, asString, parseJson } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import type { Fetch } from "../../../http/checkedFetch.ts"
import { repairMessage } from "../../jsonRpcMessages.ts"
import { bodilessStatusOf } from "./connectionFailures.ts"

/** A ping that checks a session must be answered within this time, in milliseconds. */
const checkTimeout = 5000

const maxTextLength = 64 * 1024

const checkId = "session-check"

/** What servers write about sessions that they do not know, or no longer know. The last one is of the Python SDK. */
const sessionPattern =
  /session|not (?:been |yet )*initiali[sz]ed|uninitiali[sz]ed|before initiali[sz]ation|invalid request parameters/i

/** Statuses for credentials, rates and sizes, which say nothing about the session. */
const otherStatuses: ReadonlySet<number> = new Set([401, 403, 405, 406, 407, 408, 411, 413, 414, 415, 425, 429, 431])

/** True for the text of an error that blames the session. */
export const namesSession = (message: string): boolean => sessionPattern.test(message)

interface Refusal {
  readonly status: number
  readonly reason: string
  readonly isCertain: boolean
}

/** A server that has forgotten a session may accept its messages and answer none. */
const unanswered: Refusal = { status: 202, reason: "no response", isCertain: false }

/** Tells whether an error response may refuse the session of the message with this id. */
const findRefusal = (status: number, text: string, id: unknown, hasSessionId: boolean): Refusal | undefined => {
  // Some servers send an event with an error status.
  const json = parseJson(text) ?? parseJson(/^data: ?(.*)$/m.exec(text)?.[1] ?? "")
  const message = repairMessage(json)
  const error = message !== undefined && "error" in message ? message.error : undefined
  const reason = error?.message ?? asString(asObject(json)["message"]) ?? text.slice(0, maxTextLength)
  const isNamed = namesSession(reason)
  if (status < 400) return isNamed && text.includes('"error"') ? { status, reason, isCertain: true } : undefined
  if (error?.code === jsonRpcCodes.methodNotFound) return undefined
  if (!isNamed && (status >= 500 || otherStatuses.has(status))) return undefined
  const isAnswer = error !== undefined && message?.id !== undefined && String(message.id) === String(id)
  return { status, reason, isCertain: hasSessionId && !isAnswer && (status === 404 || status === 410) }
}

/** True for a ping whose answer refuses the session. */
const refusesSession = ({ isCertain, reason }: Refusal): boolean => isCertain || namesSession(reason)

export interface SessionRefusals {
  /** Passes requests on. A response that refuses the session becomes one with the status 404, as MCP describes. */
  readonly fetch: Fetch
  /** Checks the session after an error that blames it; true when the server refuses the session. */
  readonly check: () => Promise<boolean>
}

/** Detects that a server no longer knows the session. `hasSessionId` tells whether a request names one. */
export const detectSessionRefusals = (
  fetch: Fetch,
  hasSessionId: (headers: Headers) => boolean,
  onRefused: (status: number) => void
): SessionRefusals => {
  let last: { readonly url: string | URL; readonly headers: Headers } | undefined
  /** The server answers requests in the response to their POST, not on its notification stream. */
  let answersPosts = false
  let checking: Promise<Refusal | undefined> | undefined

  /** Pings with the headers of the last request. A server that knows the session answers. */
  const ping = async (): Promise<Refusal | undefined> => {
    if (last === undefined) return undefined
    const body = JSON.stringify({ jsonrpc: "2.0", id: checkId, method: "ping" })
    try {
      const { headers, url } = last
      const response = await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(checkTimeout) })
      if (bodilessStatusOf(response) === unanswered.status) return unanswered
      return findRefusal(response.status, await response.text(), checkId, hasSessionId(headers))
    } catch {
      return undefined
    }
  }
  /** Concurrent checks share a ping. */
  const startCheck = (): Promise<Refusal | undefined> => {
    checking ??= ping().finally(() => {
      checking = undefined
    })
    return checking
  }

  const isConfirmed = async ({ isCertain, reason, status }: Refusal, id: unknown, method: unknown) => {
    // Some servers refuse notifications.
    if (isCertain && id !== undefined) return true
    // A server without ping may answer it with any error.
    if (method === "ping" && !namesSession(reason)) return false
    const answer = await startCheck()
    // A server that refuses a session refuses all requests in the same way, before it reads them.
    return answer !== undefined && (refusesSession(answer) || (answer.status === status && answer.reason === reason))
  }

  return {
    fetch: async (input, init = {}) => {
      const response = await fetch(input, init)
      const sent = new Headers(init.headers)
      // Sent with every message once the session is open.
      if (init.method !== "POST" || !sent.has("mcp-protocol-version")) return response
      last = { url: input, headers: sent }
      const { headers, status, statusText } = response
      const { id, method } = asObject(parseJson(asString(init.body) ?? ""))
      const isRequest = sent.has("mcp-session-id") && id !== undefined && method !== undefined && method !== "ping"
      const bodilessStatus = bodilessStatusOf(response)
      if (isRequest && status === 200 && bodilessStatus === undefined) answersPosts = true
      const isUnanswered = isRequest && answersPosts && bodilessStatus === unanswered.status
      if (status < 400 && !isUnanswered) return response
      const text = await response.clone().text()
      const refusal = isUnanswered ? unanswered : findRefusal(status, text, id, hasSessionId(sent))
      if (refusal === undefined || !(await isConfirmed(refusal, id, method))) return response
      await response.body?.cancel()
      onRefused(refusal.status)
      return new Response(text, { headers, status: 404, statusText })
    },
    check: async () => {
      const answer = await startCheck()
      if (answer === undefined || !refusesSession(answer)) return false
      onRefused(answer.status)
      return true
    }
  }
}
