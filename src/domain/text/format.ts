/** Joins an amount with the next smaller one, unless that is zero. */
const joinAmounts = (large: string, rest: number, unit: string) => (rest === 0 ? large : `${large} ${rest} ${unit}`)

const trimZero = (text: string): string => text.replace(/\.0$/, "")

/** Formats milliseconds in a unit that fits: `0.4 ms`, `12 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export const formatDuration = (milliseconds: number): string => {
  if (milliseconds < 10) return `${trimZero(milliseconds.toFixed(1))} ms`
  if (milliseconds < 999.5) return `${Math.round(milliseconds)} ms`
  if (milliseconds < 59_950) return `${trimZero((milliseconds / 1000).toFixed(1))} s`
  const seconds = Math.round(milliseconds / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return joinAmounts(`${minutes} min`, seconds % 60, "s")
  const hours = Math.floor(minutes / 60)
  return hours < 48
    ? joinAmounts(`${hours} h`, minutes % 60, "min")
    : joinAmounts(`${Math.floor(hours / 24)} d`, hours % 24, "h")
}

/** Formats bytes in binary units. */
export const formatBytes = (bytes: number): string => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"]
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${value < 10 && power > 0 ? trimZero(value.toFixed(1)) : Math.round(value)} ${units[power]}`
}

/** Formats a count with its noun: `1 note`, `2 notes`. */
export const formatQuantity = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** Formats a number of things: `no Agent`, `1 Computer`, `4 Computers`. */
export const formatNumberOf = (count: number, noun: string): string =>
  `${count === 0 ? "no" : formatCount(count)} ${noun}${count > 1 ? "s" : ""}`

/** Formats a rate as in `1 call/s`. */
export const formatRate = (calls: number): string => `${formatCount(calls)} ${calls === 1 ? "call" : "calls"}/s`

/** Formats a whole number with commas between thousands. */
export const formatCount = (count: number): string => String(Math.round(count)).replaceAll(/\B(?=(?:\d{3})+$)/g, ",")
