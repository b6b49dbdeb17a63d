import { Cause, Effect } from "effect"
import type { Agent, ToolCall } from "../../src/application/agent/Agent.ts"
import { errorCodeOf } from "../../src/domain/tools/errorResults.ts"

/** What an Agent in a process of its own is told when it starts. */
export interface AgentOrders {
  readonly url: string
  readonly office: string
  readonly name: string
  /** Stands in the ids of its calls, and is never used by another process. */
  readonly life: string
  readonly computers: ReadonlyArray<string>
  /** Milliseconds between two calls of the same Computer. */
  readonly every: number
  /** Calls of the same Computer that may wait for their end at once. */
  readonly atOnce: number
  /** Seconds that a call may take. */
  readonly timeout: number
  /** Milliseconds that the tool takes. */
  readonly work: number
}

/** How a call ended: with a text, with an error that a program can tell from others, or in a way that nobody foresaw. */
export type Outcome =
  | { readonly _tag: "Answered"; readonly text: string }
  | { readonly _tag: "Failed"; readonly error: string }
  | { readonly _tag: "Broken"; readonly cause: string }

/** What an Agent reports. Whatever else it is sent means: begin no more calls. */
export type AgentReport =
  /** Where it stands with its Server, whenever that changes: in words that end a sentence. */
  | { readonly _tag: "Stands"; readonly where: string }
  /** The Computers that it sees, whenever they change. */
  | { readonly _tag: "Sees"; readonly computers: ReadonlyArray<string> }
  | { readonly _tag: "Started"; readonly id: string; readonly computer: string }
  | { readonly _tag: "Ended"; readonly id: string; readonly outcome: Outcome }

/** Calls a tool, and says how that ended. */
export const outcomeOf = (agent: Agent["Service"], call: ToolCall): Effect.Effect<Outcome> =>
  agent.callTool(call).pipe(
    Effect.map((result): Outcome => {
      const text = String(result.content[0]?.["text"])
      if (!result.isError) return { _tag: "Answered", text }
      const code = errorCodeOf(result)
      const error =
        result.meta?.["a2c_timeout"] === true
          ? `timed out at the ${code === undefined ? "Agent" : "Computer"}`
          : result.meta?.["a2c_cancelled"] === true
            ? "cancelled"
            : `result ${code ?? `without a code: ${text}`}`
      return { _tag: "Failed", error }
    }),
    Effect.catch((error) => {
      const name = error._tag === "ProtocolError" ? `refusal ${error.code}` : error._tag
      return Effect.succeed<Outcome>({ _tag: "Failed", error: name })
    }),
    Effect.catchCause((cause) => Effect.succeed<Outcome>({ _tag: "Broken", cause: Cause.pretty(cause) }))
  )
