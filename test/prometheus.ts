/**
 * Reads the text format of Prometheus, and throws where something is wrong with it: every sample has a family whose type
 * came before it, no series comes twice, histograms count up. Gives the samples by their name and labels, as they stand.
 */
export const parsePrometheus = (text: string): ReadonlyMap<string, number> => {
  const types = new Map<string, string>()
  const samples = new Map<string, number>()
  if (!text.endsWith("\n")) throw new Error("the last line has no end")
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
    if (sample === null) throw new Error(`no line of the format: ${line}`)
    const [, name = "", labels = "", value = ""] = sample
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "")
    if (!types.has(family)) throw new Error(`nothing says of what type ${name} is`)
    if (samples.has(name + labels)) throw new Error(`${name}${labels} comes twice`)
    samples.set(name + labels, Number(value.replace("Inf", "Infinity")))
  }
  let last: { readonly series: string; readonly count: number } | undefined
  for (const [name, count] of samples) {
    if (!name.includes("_bucket{")) continue
    const series = name.replace(/,?le="[^"]*"/, "")
    if (last?.series === series && last.count > count)
      throw new Error(`the buckets of ${series} do not count up`)
    last = { series, count }
  }
  return samples
}
