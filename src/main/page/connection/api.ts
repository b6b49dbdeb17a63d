import { isJsonObject, parseJson } from "../../../domain/json.ts"
import type * as Page from "../../../domain/page/PageCommand.ts"
import { useEffect, useRef, useState } from "preact/hooks"
import type { OfficeAddress, PageMessage } from "../../../domain/page/PageEvent.ts"
import { currentOffice, versionOf } from "./store.ts"

/** The folder of the page, which may be below the path of a proxy. */
const base = location.pathname.replace(/\/(?:index\.html)?$/, "")

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

const errorOf = async (response: Response): Promise<RequestError> => {
  const reply: unknown = await response.json().catch(() => undefined)
  const { code, message } = isJsonObject(reply) ? reply : {}
  return new RequestError(
    typeof code === "number" ? code : response.status,
    typeof message === "string" ? message : `The Server answered ${response.status} ${response.statusText}`
  )
}

const request = async (name: string, init: RequestInit): Promise<Response> => {
  const response = await fetch(`${base}/api/${name}`, { ...init, credentials: "same-origin", cache: "no-store" }).catch(
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
    const session = (await (await request("session", {})).json()) as Page.PageSession
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
) => (await (await send("POST", "commands", command, signal)).json()) as Page.PageReplies[T]

/** Calls a tool and gives the messages of the call. The signal cancels the call. */
export const callOfficeTool = (request: Page.PageCallRequest, signal: AbortSignal) =>
  parseLines<Page.PageCallMessage>(send("POST", "calls", request, signal))

export const streamEvents = (signal: AbortSignal) => parseLines<PageMessage>(request("events", { signal }))

/** The values of a response with a line of JSON for each; empty lines keep it open. */
async function* parseLines<T>(response: Promise<Response>): AsyncGenerator<T> {
  const { body } = await response
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let line = ""
  for (let chunk = await reader?.read(); chunk?.value !== undefined; chunk = await reader?.read()) {
    const [end = "", ...next] = chunk.value.split("\n")
    line += end
    for (const start of next) {
      if (line !== "") yield parseJson(line) as T
      line = start
    }
  }
}

/** A command whose reply a view shows. Another version fetches it again. */
interface Wanted<T extends Page.PageCommandTag> {
  readonly version: string
  readonly command: Page.PageCommandOf<T>
}

/** The last reply, or the error in its place; both are missing until the first one. */
export interface Fetched<R> {
  readonly reply?: R
  readonly error?: Page.PageError
}

const settle = <R>(asked: Promise<R>): Promise<Fetched<R>> =>
  asked.then(
    (reply) => ({ reply }),
    (error: unknown) => ({ error: pageErrorOf(error) })
  )

/** The delay before a reply is fetched again, in milliseconds: a Computer may announce many changes. */
const refetchDelay = 300

/**
 * Fetches the replies of commands, again when their version changes, and gives the reply of each command. Replies of commands
 * that are not wanted any more are dropped.
 */
export const useReplies = <T extends Page.PageCommandTag>(wanted: ReadonlyArray<Wanted<T>>) => {
  type Kept = Fetched<Page.PageReplies[T]> & Pick<Wanted<T>, "version">
  const [replies, setReplies] = useState<ReadonlyMap<string, Kept>>(new Map())
  const running = useRef(new Map<string, AbortController>())
  const byKey = new Map(wanted.map((one) => [JSON.stringify(one.command), one]))
  const latest = useRef(byKey)
  latest.current = byKey

  const fetchReply = async (key: string, { command, version }: Wanted<T>): Promise<void> => {
    const abort = new AbortController()
    running.current.set(key, abort)
    if (replies.has(key)) await new Promise((resolve) => setTimeout(resolve, refetchDelay))
    const fetched = await settle(sendCommand(command, abort.signal))
    if (abort.signal.aborted) return
    running.current.delete(key)
    setReplies((before) => {
      const kept = [...before].filter(([other]) => latest.current.has(other))
      return new Map([...kept, [key, { ...fetched, version }]])
    })
  }
  const abortExcept = (kept: ReadonlyMap<string, unknown>): void => {
    for (const [key, abort] of running.current) {
      if (kept.has(key)) continue
      abort.abort()
      running.current.delete(key)
    }
  }
  useEffect(() => {
    abortExcept(byKey)
    for (const [key, one] of byKey) {
      if (!running.current.has(key) && replies.get(key)?.version !== one.version) void fetchReply(key, one)
    }
  }, [JSON.stringify(wanted), replies])
  useEffect(() => () => abortExcept(new Map()), [])
  return (command: Page.PageCommandOf<T>): Fetched<Page.PageReplies[T]> => replies.get(JSON.stringify(command)) ?? {}
}

/** Asks each Computer of an office, and again when its tools change. Computers announce changes of prompts as those of tools. */
export const useComputerReplies = <T extends Page.PageCommandTag>(
  address: OfficeAddress,
  commandOf: (computer: string) => Page.PageCommandOf<T>
) => {
  const wanted = currentOffice(address).computers.map((computer) => ({
    computer,
    version: versionOf(computer, "toolList", "config"),
    command: commandOf(computer.name)
  }))
  const fetchedOf = useReplies<T>(wanted)
  return wanted.map(({ command, computer }) => ({ computer, ...fetchedOf(command) }))
}

/**
 * Runs one action at a time, such as a command, and gives its reply or its error. The signal is aborted by the next action,
 * and when the view is left.
 */
export const useAction = <R>() => {
  const [state, setState] = useState<Fetched<R> & { readonly isRunning: boolean }>({ isRunning: false })
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])
  const run = (action: (signal: AbortSignal) => Promise<R>): void => {
    abort.current?.abort()
    const { signal } = (abort.current = new AbortController())
    setState({ isRunning: true })
    void settle(action(signal)).then((fetched) => !signal.aborted && setState({ isRunning: false, ...fetched }))
  }
  return { ...state, run }
}
