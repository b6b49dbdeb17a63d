import { officeKeyOfLine } from "../model/ids.ts"
import type { EventDefinition, ProtocolLine } from "./ProtocolLine.ts"

type LineParts = Omit<ProtocolLine, "findEventDefinition">

/** Makes a line from its parts. */
export const makeLine = (parts: LineParts): ProtocolLine => {
  const { callStatus, calls, cancel, serverRequests, unknownCall, updates } = parts
  const definitions: ReadonlyArray<EventDefinition | undefined> = [
    ...Object.values(calls),
    ...Object.values(serverRequests),
    ...Object.values(updates),
    cancel,
    callStatus
  ]
  const byEvent = new Map(
    definitions.flatMap((definition) => {
      if (definition === undefined) return []
      const aliases = "aliases" in definition ? definition.aliases : []
      return [definition.event, ...aliases].map((event) => [event, definition] as const)
    })
  )
  return {
    ...parts,
    findEventDefinition: (event) => byEvent.get(event) ?? (event.startsWith("client:") ? unknownCall : undefined)
  }
}

/** Makes a line from its predecessor and its differences. */
export const extendLine = (
  predecessor: ProtocolLine,
  differences: Pick<ProtocolLine, "name" | "version"> & Partial<Omit<LineParts, "officeKey">>
): ProtocolLine =>
  makeLine({
    ...predecessor,
    ...differences,
    officeKey: (officeId) => officeKeyOfLine(differences.name, officeId)
  })
