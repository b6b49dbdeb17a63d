import { isJsonObject, parseJson } from "../../../domain/json.ts"
import type * as Page from "../../../domain/page/PageCommand.ts"

/** The folder of the page, which may be below the path of a proxy. */
const base = location.pathname.replace(/\/(?:index\.html)?$/, "")

export const apiUrl = (name: string): string => `${base}/api/${name}`

/** A request that failed. `code` is one of the protocol or of HTTP; 0 when the Server cannot be reached. */
class RequestError extends Error implements Page.PageError {
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

/** The error of any thrown value. */
export const pageErrorOf = (error: unknown): Page.PageError =>
  error instanceof RequestError ? error : { code: 0, message: error instanceof Error ? error.message : String(error) }

/** The reply as JSON: the Server is trusted to keep the contract. */
const parseReply = async (response: Response): Promise<unknown> => parseJson(await response.text())

const errorOf = async (response: Response): Promise<RequestError> => {
  const reply = await parseReply(response).catch(() => undefined)
  const { code, message } = isJsonObject(reply) ? reply : {}
  return new RequestError(
    typeof code === "number" ? code : response.status,
    typeof message === "string" ? message : `The Server answered ${response.status} ${response.statusText}`
  )
}

const request = async (name: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(apiUrl(name), { ...init, credentials: "same-origin", cache: "no-store" }).catch(
    (error: unknown) => {
      // An aborted request is not a failure of the Server.
      if (init.signal?.aborted === true) throw error
      throw new RequestError(0, "The Server is not reachable")
    }
  )
  if (!response.ok) throw await errorOf(response)
  return response
}

/** The token of the session; requests before a session carry a placeholder, which no other origin can send. */
let csrf = "sign-in"

const send = (method: "POST" | "DELETE", name: string, body: unknown, signal?: AbortSignal): Promise<Response> =>
  request(name, {
    method,
    headers: { "Content-Type": "application/json", "X-A2C-CSRF": csrf },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal })
  })

/** Fetches the session; `undefined` when the page must sign in. */
export const fetchSession = async (): Promise<Page.PageSession | undefined> => {
  try {
    const session = (await parseReply(await request("session", {}))) as Page.PageSession
    csrf = session.csrf
    return session
  } catch (error) {
    if (pageErrorOf(error).code === 401) return undefined
    throw error
  }
}

export const signIn = async (token: string): Promise<void> => {
  await send("POST", "session", { token })
}

export const signOut = async (): Promise<void> => {
  await send("DELETE", "session", {})
  csrf = "sign-in"
}

/** Sends a command and resolves with its reply. */
export const sendCommand = async <T extends Page.PageCommandTag>(
  command: Page.PageCommandOf<T>,
  signal?: AbortSignal
) => (await parseReply(await send("POST", "commands", command, signal))) as Page.PageReplies[T]

/** Starts a request whose reply is a stream of lines. */
export const openStream = async (name: string, body: unknown, signal: AbortSignal): Promise<ReadableStream<string>> => {
  const { body: stream } = await send("POST", name, body, signal)
  if (stream === null) throw new RequestError(500, "The reply of the Server is empty")
  return stream.pipeThrough(new TextDecoderStream())
}
