/** Which span something belongs to, in the terms of W3C Trace Context. */
export interface TraceContext {
  /** 32 hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 hexadecimal digits, not all zero. */
  readonly spanId: string
  /** Is the trace being recorded? */
  readonly sampled: boolean
}

const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/

/**
 * Reads a `traceparent` of version 00, or gives `undefined` for anything else. It is strict because request ids of
 * all kinds come here, and one that only looks similar must not become a trace.
 */
export const parseTraceparent = (text: string): TraceContext | undefined => {
  // Looked at by length first: nearly all request ids that are no traceparent end here.
  const [, traceId = "", spanId = "", flags = ""] =
    text.length === 55 ? (traceparentPattern.exec(text) ?? []) : []
  return traceId === "" ? undefined : { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 }
}

/** Writes a `traceparent`, or gives `undefined` where the ids are none that the format knows. */
export const formatTraceparent = ({ sampled, spanId, traceId }: TraceContext): string | undefined => {
  const text = `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`
  return traceparentPattern.test(text) ? text : undefined
}
