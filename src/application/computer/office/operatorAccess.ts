import { Effect } from "effect"
import type { MemberFeature } from "../../../domain/office/memberFeatures.ts"
import { stderrBounds } from "../../../domain/page/Inspection.ts"
import type { RemoteApprover } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"

/** What the operators of the Server may see and do at a Computer; the states of its MCP servers by default. */
export interface ComputerOperatorAccess {
  /** They see the states of the MCP servers, why they fail, and which tools need consent; true by default. */
  readonly states?: boolean
  /** They see the last lines that MCP servers write to stderr; false by default. */
  readonly stderr?: boolean
  /** They may call tools while the office has an Agent, with the consent that an Agent needs; false by default. */
  readonly calls?: boolean
}

/** The features that a Computer announces to its Server. */
export const featuresOf = (
  { calls = false, states = true }: ComputerOperatorAccess,
  approvers: ReadonlyArray<RemoteApprover>
): ReadonlyArray<MemberFeature> => [
  "operator_names",
  ...(states ? (["inspection"] as const) : []),
  ...(calls ? (["operator_calls"] as const) : []),
  ...(approvers.includes("page") ? (["approvals"] as const) : [])
]

/** The last lines of stderr of MCP servers, by their names. */
export interface ServerOutputs {
  readonly record: (server: string, line: string) => void
  /** Undefined where the Computer does not share them. */
  readonly linesOf: (server: string) => ReadonlyArray<string> | undefined
  /** Resolves with the next line, or {@link wake}. */
  readonly changed: Effect.Effect<void>
  readonly wake: () => void
}

/** Keeps the last lines of stderr, redacted, where the Computer shares them. */
export const makeServerOutputs = ({ redact }: Secrets, { stderr = false }: ComputerOperatorAccess): ServerOutputs => {
  const lines = new Map<string, ReadonlyArray<string>>()
  const waiting = new Set<() => void>()
  const wake = () => {
    const woken = [...waiting]
    waiting.clear()
    for (const resume of woken) resume()
  }
  return {
    record: (server, line) => {
      if (!stderr) return
      const shown = redact(line).slice(0, stderrBounds.characters).toWellFormed()
      lines.set(server, [...(lines.get(server) ?? []), shown].slice(-stderrBounds.lines))
      wake()
    },
    linesOf: (server) => (stderr ? (lines.get(server) ?? []) : undefined),
    changed: Effect.callback((resume) => {
      const onChange = () => resume(Effect.void)
      waiting.add(onChange)
      return Effect.sync(() => void waiting.delete(onChange))
    }),
    wake
  }
}
