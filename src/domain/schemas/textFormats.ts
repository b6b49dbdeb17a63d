/** A format of texts: what matches it, and how a person is asked for it. */
export interface TextFormat {
  readonly matches: (text: string) => boolean
  readonly wanted: string
}

const isTime = (text: string): boolean => !Number.isNaN(Date.parse(text))

/** True for a day that exists. */
const isDay = (text: string): boolean => {
  const at = Date.parse(`${text}T00:00Z`)
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text)
}

/** The formats of the fields of a question (MCP, elicitation). In other schemas a format is only an annotation. */
export const questionFormats: { readonly [format: string]: TextFormat } = {
  email: { matches: (text) => /^[^\s@]+@[^\s@]+$/.test(text), wanted: "an email address such as ann@example.org" },
  uri: { matches: (text) => /^[a-z][a-z0-9+.-]*:\S+$/i.test(text), wanted: "an address such as https://example.org" },
  date: { matches: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDay(text), wanted: "a date such as 2026-11-29" },
  "date-time": {
    matches: (text) => /^\d{4}-\d\d-\d\d[Tt ]\d/.test(text) && isDay(text.slice(0, 10)) && isTime(text),
    wanted: "a date and time such as 2026-11-29T14:30:00Z"
  }
}

const textFormats: { readonly [format: string]: TextFormat } = {
  ...questionFormats,
  time: {
    matches: (text) => /^\d\d:\d\d/.test(text) && isTime(`2000-01-01T${text}`),
    wanted: "a time such as 14:30:00Z"
  }
}

export const findTextFormat = (format = ""): TextFormat | undefined =>
  Object.hasOwn(textFormats, format) ? textFormats[format] : undefined

/** The reason why a text does not have its format, for the person that enters it. */
export const textFormatProblem = (format: string | undefined, text: string): string | undefined => {
  const found = findTextFormat(format)
  return text === "" || found === undefined || found.matches(text) ? undefined : `Enter ${found.wanted}`
}
