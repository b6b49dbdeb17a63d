import type { RefObject } from "preact"
import { useEffect, useState } from "preact/hooks"

/** How long buttons must have stood still before they take a click, in milliseconds. */
const steadyMillis = 500

/** False for a moment after the size of an element has changed: what it contains may have moved under the pointer. */
export const useSteady = (element: RefObject<HTMLElement | null>): boolean => {
  const [isSteady, setSteady] = useState(false)
  useEffect(() => {
    if (element.current === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      setSteady(false)
      clearTimeout(timer)
      timer = setTimeout(() => setSteady(true), steadyMillis)
    })
    observer.observe(element.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [])
  return isSteady
}
