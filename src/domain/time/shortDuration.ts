import { Duration, Option } from "effect"

const units: { readonly [unit: string]: string } = { s: "seconds", m: "minutes", h: "hours", d: "days" }

/** Parses `90s`, `30m`, `2h` or `1d`; `undefined` for other texts, and for no time at all. */
export const parseShortDuration = (text: string): Duration.Duration | undefined => {
  const [, amount = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const duration = Duration.fromInput(`${amount} ${units[unit] ?? ""}` as Duration.Input)
  return Option.getOrUndefined(Option.filter(duration, (given) => !Duration.isZero(given)))
}
