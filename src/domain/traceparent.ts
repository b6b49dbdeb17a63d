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
