import { useEffect, useState } from "preact/hooks"
import { serverNow } from "../connection/store.ts"

const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23"
})
const dateAndClock = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })

/** The time of the day in the language of the browser. */
export const formatClock = (at: number): string => clock.format(at)

export const formatDateTime = (at: number): string => dateAndClock.format(at)

/** The time of the Server, renewed at an interval in milliseconds. */
export const useServerTime = (interval: number): number => {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), interval)
    return () => clearInterval(timer)
  }, [interval])
  return now
}
