import { useEffect, useRef, useState } from "preact/hooks"
import { pageErrorOf } from "./api.ts"
import type { Fetched } from "./useReplies.ts"

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
