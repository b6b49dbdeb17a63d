import type { Notification } from "../../domain/model/Notification.ts"
import type { DocumentSummary } from "../../domain/model/requests.ts"
import type { Role } from "../../domain/model/Membership.ts"
import type { Tool } from "../../domain/model/Tool.ts"

/** An Agent's view of one Computer; parts are `undefined` until fetched. */
export interface ComputerView {
  readonly tools: ReadonlyArray<Tool> | undefined
  readonly desktop: ReadonlyArray<string> | undefined
  /** The first page of its documents; fetched after a change notification. */
  readonly documents: ReadonlyArray<DocumentSummary> | undefined
}

/** An Agent's view of its office. */
export interface OfficeView {
  readonly members: ReadonlyArray<{ readonly name: string; readonly role: Role }>
  readonly computers: ReadonlyMap<string, ComputerView>
}

const unknownComputer: ComputerView = { tools: undefined, desktop: undefined, documents: undefined }

/** Builds a view from the members alone. */
export const initialView = (members: OfficeView["members"]): OfficeView => ({
  members,
  computers: new Map(members.filter(({ role }) => role === "computer").map(({ name }) => [name, unknownComputer]))
})

/** Applies fetched parts of a Computer; ignores a Computer that has left. */
export const applyUpdate = (view: OfficeView, computer: string, update: Partial<ComputerView>): OfficeView => {
  const known = view.computers.get(computer)
  if (known === undefined) return view
  return { ...view, computers: new Map(view.computers).set(computer, { ...known, ...update }) }
}

/** Applies a notification about a member that entered or left; ignores others. */
export const applyNotice = (view: OfficeView, notice: Notification): OfficeView => {
  if (notice._tag !== "Entered" && notice._tag !== "Left") return view
  const { name, role } = notice.membership
  const members = view.members.filter((member) => member.name !== name || member.role !== role)
  const computers = new Map(view.computers)
  if (role === "computer") computers.delete(name)
  if (notice._tag === "Left") return { members, computers }
  if (role === "computer") computers.set(name, unknownComputer)
  return { members: [...members, { name, role }], computers }
}
