import { type Layer, Logger } from "effect"

/** Keeps the reason of the last failed join instead of the log lines of thousands of members. */
export const makeReasonLog = (): { readonly layer: Layer.Layer<never>; readonly last: () => string } => {
  let last = "no join has failed"
  const logger = Logger.make<unknown, void>(({ message }) => {
    if (!Array.isArray(message) || message[0] !== "join failed, retrying") return
    const fields = message[1] as { readonly reason: string }
    last = fields.reason
  })
  return { layer: Logger.layer([logger]), last: () => last }
}
