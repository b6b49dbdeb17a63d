import { compareReleases, type Pairing, type Peer, type Role } from "./peers.ts"
import type { StepName } from "./steps.ts"

/** A fault of published packages. */
export interface KnownFault {
  readonly language: Peer["language"]
  /** The first and the last version with the fault. */
  readonly versions: readonly [first: string, last: string]
  /** The part of the peer that has the fault. */
  readonly role: Role
  readonly steps: ReadonlyArray<StepName>
  /** The other parts for which the fault shows; any by default. */
  readonly among?: Partial<Pairing>
  /** Occurs now and then: the step must pass when it runs again. */
  readonly isOccasional?: boolean
  /** For people: what the peer does. */
  readonly fault: string
}

export const knownFaults: ReadonlyArray<KnownFault> = [
  {
    language: "python",
    versions: ["0.2.2", "0.4.2"],
    role: "agent",
    steps: ["timeout"],
    fault: "does not recognise its timeout of a call: sends no cancellation, and the result has no `a2c_timeout`"
  },
  {
    language: "python",
    versions: ["0.2.2", "0.4.2"],
    role: "computer",
    steps: ["computerRejoins"],
    fault: "reconnects after a lost connection, and does not rejoin its office"
  },
  {
    language: "python",
    versions: ["0.2.2", "0.4.2"],
    role: "agent",
    steps: ["agentRejoins"],
    fault: "reconnects after a lost connection, and does not rejoin its office"
  },
  {
    language: "python",
    versions: ["0.2.2", "0.2.2"],
    role: "agent",
    steps: ["toolsChanged"],
    fault: "ignores `notify:update_tool_list`"
  },
  {
    language: "python",
    versions: ["0.2.2", "0.2.2"],
    role: "computer",
    steps: ["toolsChanged"],
    fault: "announces a tool that is added at run time, and neither lists nor runs it"
  },
  {
    language: "python",
    versions: ["0.2.2", "0.3.3"],
    role: "computer",
    steps: ["windowOpened"],
    fault: "deadlocks on `notifications/resources/list_changed` of an MCP server"
  },
  {
    language: "python",
    versions: ["0.3.0", "0.3.0"],
    role: "server",
    steps: ["config"],
    among: { computer: "ours" },
    fault: "drops a configuration whose inputs have options with labels, which later packages of the same line require"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "agent",
    steps: ["secondAgent"],
    fault: "joins without waiting for the acknowledgement, and does not notice that it is rejected"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "agent",
    steps: ["agentRejoins"],
    fault: "reconnects after a lost connection, and does not rejoin its office"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "computer",
    steps: ["timeout"],
    fault: "does not cancel the request to the MCP server when a call times out"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "computer",
    steps: ["config"],
    among: { agent: "ours" },
    fault: "sends the types of inputs as `PickString` and `PromptString`"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "computer",
    steps: ["desktopChanged"],
    fault: "does not subscribe to windows"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "server",
    steps: ["functionsInPage"],
    fault: "sends no CORS headers, so a page of another origin cannot poll"
  },
  {
    language: "rust",
    versions: ["0.4.1", "0.4.1"],
    role: "server",
    steps: [
      "tools",
      "call",
      "failedCall",
      "unknownTool",
      "picture",
      "desktop",
      "desktopSize",
      "desktopWindow",
      "config",
      "resources",
      "unknownServer",
      "skills",
      "skillFile",
      "skillBlob",
      "upload"
    ],
    isOccasional: true,
    fault:
      "loses some acknowledgements that arrive within a millisecond, and does not acknowledge the request to the Agent"
  }
]

/** True for faults without which the step must pass when it runs again. */
export const areOccasional = (faults: ReadonlyArray<KnownFault>): boolean =>
  faults.length > 0 && faults.every(({ isOccasional = false }) => isOccasional)

/** The faults that may explain the failure of a step. */
export const faultsOf = (
  step: StepName,
  pairing: Pairing,
  { language, version }: Peer,
  faults: ReadonlyArray<KnownFault> = knownFaults
): ReadonlyArray<KnownFault> =>
  faults.filter(({ among = {}, language: faulty, role, steps, versions: [first, last] }) => {
    const concerns = (Object.keys(among) as ReadonlyArray<Role>).every((part) => pairing[part] === among[part])
    return (
      concerns &&
      faulty === language &&
      pairing[role] === "theirs" &&
      steps.includes(step) &&
      compareReleases(first, version) <= 0 &&
      compareReleases(version, last) <= 0
    )
  })
