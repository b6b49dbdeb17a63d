/**
 * Parses the text format of Prometheus and throws when it is invalid: each sample needs a family with an earlier
 * type, series are unique, and histogram buckets increase. Returns the samples by name and labels.
 */
export const parsePrometheus = (text: string): ReadonlyMap<string, number> => {
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  if (!text.endsWith("\n")) throw new Error("the last line has no line break")
  for (const line of text.slice(0, -1).split("\n")) {
    const type = /^# TYPE ([a-zA-Z_:][\w:]*) (counter|gauge|histogram|summary)$/.exec(line)
    if (type !== null) {
      const [, name = "", kind = ""] = type
      if (types.has(name)) throw new Error(`two families have the name ${name}`)
      types.set(name, kind)
      continue
    }
    if (/^# HELP [a-zA-Z_:][\w:]* ./.test(line)) continue
    const sample =
      /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (-?[\d.]+(?:e[+-]?\d+)?|NaN|[+-]Inf)$/.exec(
        line
      )
    if (sample === null) throw new Error(`invalid line: ${line}`)
    const [, name = "", labels = "", value = ""] = sample
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "")
    if (!types.has(family)) throw new Error(`${name} has no type`)
    if (samples.has(name + labels)) throw new Error(`${name}${labels} is repeated`)
    samples.set(name + labels, Number(value.replace("Inf", "Infinity")))
  }
  let last: { readonly series: string; readonly count: number } | undefined
  for (const [name, count] of samples) {
    if (!name.includes("_bucket{")) continue
    const series = name.replace(/,?le="[^"]*"/, "")
    if (last?.series === series && last.count > count) throw new Error(`the buckets of ${series} do not increase`)
    last = { series, count }
  }
  return samples
}
