import { Result } from "effect"
import type { ComputerName } from "../model/ids.ts"

/** A task of an office: the id that its Agent chose, at its Computer. */
export interface OfficeTask {
  readonly id: string
  readonly computer: ComputerName
}

/** Formats the id of a task for hosts and people. It names the Computer, so a later process finds the task. */
export const formatTaskId = ({ computer, id }: OfficeTask) => `${id}@${encodeURIComponent(computer.toWellFormed())}`

/** Parses an id of {@link formatTaskId}; `undefined` for other texts, also for labels that are not well-formed. */
export const parseTaskId = (text: string): OfficeTask | undefined => {
  const [, id = "", label = ""] = /^([^@]+)@(.+)$/s.exec(text) ?? []
  const computer = Result.getOrUndefined(Result.try(() => decodeURIComponent(label)))
  return id === "" || computer?.isWellFormed() !== true ? undefined : { id, computer }
}
