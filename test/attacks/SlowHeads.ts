import { Context, Effect, Layer } from "effect"
import { type Bare, bare } from "./raw.ts"

/** Requests with endless headers, and connections without a request. They run all the time: their timeouts are long. */
export class SlowHeads extends Context.Service<SlowHeads, ReadonlyArray<Bare>>()("test/attacks/SlowHeads") {
  static readonly layer = Layer.effect(
    SlowHeads,
    Effect.forEach(
      Array.from({ length: 100 }, (_, index) => index),
      (index) => bare(index % 2 === 0 ? "" : "GET /smcp/ HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
    )
  )
}
