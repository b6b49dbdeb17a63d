/** A span in W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 hexadecimal digits, not all zero. */
  readonly spanId: string
  readonly sampled: boolean
}

const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/** Parses a `traceparent` of version 00. Strict: a request id that only looks similar must not become a trace. */
export const parseTraceparent = (text: string): TraceContext | undefined => {
  // The length excludes nearly all other request ids cheaply.
  const [, traceId = "", spanId = "", flags = ""] = text.length === 55 ? (traceparentPattern.exec(text) ?? []) : []
  return traceId === "" ? undefined : { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Formats a `traceparent`; gives `undefined` for invalid ids. */
export const formatTraceparent = ({ sampled, spanId, traceId }: TraceContext): string | undefined => {
  const text = `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`
  return traceparentPattern.test(text) ? text : undefined
}

/** What a request carries for tracing, by W3C Trace Context and Baggage: valid values, which pass through unread. */
export type Propagation = { readonly [K in "traceparent" | "tracestate" | "baggage"]?: string | undefined }

const isListOf = (member: RegExp, maxMembers: number) => (text: string) => {
  const members = text.split(",").map((one) => one.trim())
  return members.length <= maxMembers && members.every((one) => one === "" || member.test(one))
}

const validators: { readonly [K in keyof Propagation]-?: (text: string) => boolean } = {
  traceparent: (text) => parseTraceparent(text) !== undefined,
  tracestate: isListOf(/^[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/, 32),
  baggage: isListOf(/^[\w!#$%&'*+.^`|~-]+[ \t]*=[ \t]*[!#-+\--:<-[\]-~]*[ \t]*(?:;[\t !#-+\--:<-[\]-~]*)*$/, 64)
}

/** Reads a carrier such as HTTP headers, without invalid and long values. Later versions of `traceparent` start alike. */
export const readPropagation = (read: (name: keyof Propagation) => unknown): Propagation => {
  const valueOf = (name: keyof Propagation) => {
    const value = read(name)
    if (typeof value !== "string" || value.length > 8192) return undefined
    const text = name === "traceparent" ? value.replace(/^(?!00|ff)[0-9a-f]{2}(-.{52})(?:-.*)?$/s, "00$1") : value
    return validators[name](text) ? text : undefined
  }
  const traceparent = valueOf("traceparent")
  return { traceparent, tracestate: traceparent && valueOf("tracestate"), baggage: valueOf("baggage") }
}
