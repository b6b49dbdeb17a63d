import { useEffect, useRef, useState } from "preact/hooks"
import type { PageCommandOf, PageCommandTag, PageError, PageReplies } from "../../../domain/page/PageCommand.ts"
import { pageErrorOf, sendCommand } from "./api.ts"
import type { OfficeAddress, PageMember } from "../../../domain/page/PageEvent.ts"
import { currentOffice, versionOf } from "./store.ts"

/** A command whose reply a view shows. Another version fetches it again. */
interface Wanted<T extends PageCommandTag> {
  readonly key: string
  readonly version: string
  readonly command: PageCommandOf<T>
}

/** The last reply, or the error in its place; both are missing until the first one. */
export interface Fetched<R> {
  readonly reply?: R
  readonly error?: PageError
}

/** The shortest time between two requests of a key, in milliseconds: a Computer may announce many changes. */
const minInterval = 300

interface Fetching {
  version: string
  isRunning: boolean
  readonly abort: AbortController
}

/** Fetches replies, and again when their version changes. Replies of keys that are not wanted any more are dropped. */
export const useReplies = <T extends PageCommandTag>(
  wanted: ReadonlyArray<Wanted<T>>
): ReadonlyMap<string, Fetched<PageReplies[T]>> => {
  const [replies, setReplies] = useState<ReadonlyMap<string, Fetched<PageReplies[T]>>>(new Map())
  const fetching = useRef(new Map<string, Fetching>())
  const latest = useRef(wanted)
  latest.current = wanted

  const fetchReply = async (key: string): Promise<void> => {
    const state = fetching.current.get(key)
    const one = latest.current.find((other) => other.key === key)
    if (state === undefined || one === undefined || state.isRunning || state.version === one.version) return
    state.isRunning = true
    state.version = one.version
    const fetched = await sendCommand(one.command, state.abort.signal).then(
      (reply): Fetched<PageReplies[T]> => ({ reply }),
      (error: unknown): Fetched<PageReplies[T]> => ({ error: pageErrorOf(error) })
    )
    if (state.abort.signal.aborted) return
    setReplies((before) => new Map(before).set(key, fetched))
    setTimeout(() => {
      state.isRunning = false
      void fetchReply(key)
    }, minInterval)
  }

  const identity = JSON.stringify(wanted.map(({ key, version }) => [key, version]))
  useEffect(() => {
    const keys = new Set(wanted.map(({ key }) => key))
    for (const [key, { abort }] of fetching.current) {
      if (keys.has(key)) continue
      abort.abort()
      fetching.current.delete(key)
      setReplies((before) => new Map([...before].filter(([other]) => other !== key)))
    }
    for (const key of keys) {
      if (!fetching.current.has(key)) {
        fetching.current.set(key, { version: "", isRunning: false, abort: new AbortController() })
      }
      void fetchReply(key)
    }
  }, [identity])
  useEffect(
    () => () => {
      for (const { abort } of fetching.current.values()) abort.abort()
      fetching.current.clear()
    },
    []
  )
  return replies
}

/** The replies of the Computers of an office. */
export interface ComputerReplies<R> {
  readonly replies: ReadonlyArray<{ readonly computer: PageMember; readonly reply: R }>
  readonly isLoading: boolean
  readonly errors: ReadonlyArray<{ readonly computer: string; readonly error: PageError }>
}

/** Asks each Computer of an office, and again when its tools change. Computers announce changes of prompts as those of tools. */
export const useComputerReplies = <T extends PageCommandTag>(
  address: OfficeAddress,
  commandOf: (computer: string) => PageCommandOf<T>
): ComputerReplies<PageReplies[T]> => {
  const { computers } = currentOffice(address)
  const replies = useReplies<T>(
    computers.map((computer) => ({
      key: computer.name,
      version: versionOf(computer, "toolList", "config"),
      command: commandOf(computer.name)
    }))
  )
  const fetched = computers.map((computer) => ({ computer, ...replies.get(computer.name) }))
  return {
    replies: fetched.flatMap(({ computer, reply }) => (reply === undefined ? [] : [{ computer, reply }])),
    isLoading: fetched.some(({ error, reply }) => reply === undefined && error === undefined),
    errors: fetched.flatMap(({ computer, error }) => (error === undefined ? [] : [{ computer: computer.name, error }]))
  }
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
    const end = (fetched: Fetched<R>) => !signal.aborted && setState({ isRunning: false, ...fetched })
    setState({ isRunning: true })
    action(signal).then(
      (reply) => end({ reply }),
      (error: unknown) => end({ error: pageErrorOf(error) })
    )
  }
  return { ...state, run }
}
