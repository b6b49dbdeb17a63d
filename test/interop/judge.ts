import { Result } from "effect"
import { areOccasional, faultsOf, type KnownFault } from "./knownFaults.ts"
import type { Pairing, Peer } from "./peers.ts"
import type { StepName } from "./steps.ts"

/** What a step showed: the reason of a failure, or why it could not run. */
export type Observation =
  | { readonly _tag: "Ran"; readonly result: Result.Result<void, string> }
  | { readonly _tag: "NotOffered" }
  | { readonly _tag: "Blocked"; readonly by: StepName }

export type Verdict =
  | { readonly _tag: "Passed" }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "KnownFault"; readonly faults: ReadonlyArray<KnownFault>; readonly reason: string }
  /** A known fault does not occur: the table is outdated. */
  | { readonly _tag: "Fixed"; readonly faults: ReadonlyArray<KnownFault> }
  /** The peer or its protocol line does not have this. */
  | { readonly _tag: "NotOffered" }
  | { readonly _tag: "Blocked"; readonly by: StepName }

/** The verdict on a step of a pairing. */
export interface Finding {
  readonly peer: Peer
  readonly pairing: Pairing
  readonly step: StepName
  readonly verdict: Verdict
}

/** Judges a step by the known faults. `again` is what its repetition showed, for occasional faults. */
export const judge = (
  peer: Peer,
  pairing: Pairing,
  step: StepName,
  observation: Observation,
  again?: Observation,
  faults?: ReadonlyArray<KnownFault>
): Verdict => {
  if (observation._tag !== "Ran") return observation
  const expected = faultsOf(step, pairing, peer, faults)
  const lasting = expected.filter((fault) => !areOccasional([fault]))
  const passedLater = again?._tag === "Ran" && Result.isSuccess(again.result)
  return Result.match(observation.result, {
    onSuccess: (): Verdict => (lasting.length === 0 ? { _tag: "Passed" } : { _tag: "Fixed", faults: lasting }),
    onFailure: (reason) =>
      lasting.length > 0 || (expected.length > 0 && passedLater)
        ? { _tag: "KnownFault", faults: lasting.length > 0 ? lasting : expected, reason }
        : { _tag: "Failed", reason }
  })
}

/** True for verdicts that fail the run. */
export const isWrong = ({ _tag }: Verdict): boolean => _tag === "Failed" || _tag === "Fixed"

/** Formats a verdict for people, in one line. */
export const formatVerdict = (verdict: Verdict): string => {
  switch (verdict._tag) {
    case "Passed":
      return "passed"
    case "Failed":
      return `FAILED: ${verdict.reason}`
    case "KnownFault":
      return `known fault: ${verdict.faults.map(({ fault }) => fault).join("; ")} (${verdict.reason})`
    case "Fixed":
      return `FIXED UPSTREAM, remove it from knownFaults.ts: ${verdict.faults.map(({ fault }) => fault).join("; ")}`
    case "NotOffered":
      return "not offered"
    case "Blocked":
      return `not run: ${verdict.by} failed`
  }
}
