import type { Clock } from "effect"
import { type InspectedFault, maxFaults, maxFaultLength } from "../../../domain/page/Inspection.ts"

export type FaultLog = ReturnType<typeof makeFaultLog>

/** Keeps the latest faults of a device for operators. */
export const makeFaultLog = (clock: Clock.Clock) => {
  let faults: ReadonlyArray<InspectedFault> = []
  return {
    record: (text: string): void => {
      const fault = { at: clock.currentTimeMillisUnsafe(), text: text.slice(0, maxFaultLength).toWellFormed() }
      faults = [...faults, fault].slice(-maxFaults)
    },
    /** The latest faults, the oldest one first. */
    recent: (): ReadonlyArray<InspectedFault> => faults
  }
}
