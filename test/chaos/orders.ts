import { Cause, Effect } from "effect"
import type { Agent, ToolCall } from "../../src/application/agent/Agent.ts"
import type { LineName } from "../../src/domain/wire/lines.ts"
import { errorCodeOf } from "../../src/domain/tools/errorResults.ts"
import { firstText } from "../firstText.ts"

/** Arguments of an Agent process. */
export interface AgentOrders {
  readonly url: string
  readonly office: string
  readonly protocol: LineName
  readonly tool: string
  readonly name: string
  /** Prefix of its call ids, unique for each process. */
  readonly life: string
  readonly computers: ReadonlyArray<string>
  /** Milliseconds between two calls to the same Computer. */
  readonly every: number
  /** Maximum of concurrent calls to the same Computer. */
  readonly atOnce: number
  /** Timeout of a call in seconds. */
  readonly timeout: number
  /** Duration of the tool in milliseconds. */
  readonly work: number
}

/** The name of a tool of an MCP server on this protocol line. */
export const toolNamed = (tool: string, server: string, protocol: LineName): string =>
  protocol === "0.2" ? tool : `${server}__${tool}`

/** Outcome of a call: a text, a protocol error, or an unexpected failure. */
export type Outcome =
  | { readonly _tag: "Answered"; readonly text: string }
  | { readonly _tag: "Failed"; readonly error: string }
  | { readonly _tag: "Broken"; readonly cause: string }

/** Reports of an Agent. Any message to the Agent stops new calls. */
export type AgentReport =
  /** Its connection status at each change, as the end of a sentence. */
  | { readonly _tag: "Stands"; readonly where: string }
  /** The Computers in its office, at each change. */
  | { readonly _tag: "Sees"; readonly computers: ReadonlyArray<string> }
  | { readonly _tag: "Started"; readonly id: string; readonly computer: string }
  | { readonly _tag: "Ended"; readonly id: string; readonly outcome: Outcome }

/** Calls a tool and returns the outcome. */
export const outcomeOf = (agent: Agent["Service"], call: ToolCall): Effect.Effect<Outcome> =>
  agent.callTool(call).pipe(
    Effect.map((result): Outcome => {
      const text = firstText(result)
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
