import { findPageOffice } from "../../../domain/page/offices.ts"
import type { PageCommandTag, PageError, PageReplies } from "../../../domain/page/PageCommand.ts"
import type { OfficeAddress, PageMember } from "../../../domain/page/PageEvent.ts"
import { partKey } from "../../../domain/page/PageState.ts"
import type { PageCommandOf } from "../../../domain/page/PageCommand.ts"
import { pageState } from "./store.ts"
import { useReplies } from "./useReplies.ts"

/** The replies of the Computers of an office. */
export interface ComputerReplies<R> {
  readonly replies: ReadonlyArray<{ readonly computer: PageMember; readonly reply: R }>
  readonly isLoading: boolean
  readonly errors: ReadonlyArray<{ readonly computer: string; readonly error: PageError }>
}

/** Asks each Computer of an office, and again when its tools change. Computers announce changes of prompts as those of tools. */
export const useComputerReplies = <T extends PageCommandTag>(
  address: OfficeAddress,
  commandOf: (computer: string) => PageCommandOf<T>
): ComputerReplies<PageReplies[T]> => {
  const state = pageState.value
  const { computers } = findPageOffice(state, address)
  const updatesOf = (computer: string, part: string): number => state.updates.get(partKey(address, computer, part)) ?? 0
  const replies = useReplies<T>(
    computers.map(({ name, sid }) => ({
      key: name,
      version: [state.stream, sid, updatesOf(name, "toolList"), updatesOf(name, "config")].join(" "),
      command: commandOf(name)
    }))
  )
  const fetched = computers.map((computer) => ({ computer, ...replies.get(computer.name) }))
  return {
    replies: fetched.flatMap(({ computer, reply }) => (reply === undefined ? [] : [{ computer, reply }])),
    isLoading: fetched.some(({ error, reply }) => reply === undefined && error === undefined),
    errors: fetched.flatMap(({ computer, error }) => (error === undefined ? [] : [{ computer: computer.name, error }]))
  }
}
