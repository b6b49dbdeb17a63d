import { computed, signal } from "@preact/signals"
import { useEffect, useState } from "preact/hooks"
import { connectionFlags } from "../../../domain/page/calls/callPhase.ts"
import { quoteForShell } from "../../../domain/text/quoteForShell.ts"
import { findOpenApprovals } from "../../../domain/page/calls/openApprovals.ts"
import type { PageSession } from "../../../domain/page/PageCommand.ts"
import { applyMessage, initialState, type PageState, partKey } from "../../../domain/page/PageState.ts"
import { findPageOffice } from "../../../domain/page/offices.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { OfficeAddress, PageMember, PageMessage } from "../../../domain/page/PageEvent.ts"
import { officeHash, parseRoute } from "../../../domain/page/route.ts"

/** The connection of the page to the Server. */
export type ConnectionState = "Connecting" | "SignIn" | "Connected" | "Reconnecting" | "Unavailable"

export const connection = signal<ConnectionState>("Connecting")
export const session = signal<PageSession | undefined>(undefined)
export const pageState = signal<PageState>(initialState)

/** The command of a member that connects as this page does. The Server of the page of an Agent is not known. */
export const connectionWords = (): ReadonlyArray<string> => {
  const { office, requiresSignIn = false } = session.value ?? {}
  const path = location.pathname.replace(/\/office(?:\/(?:index\.html)?)?$/, "")
  return office === undefined ? connectionFlags(location.origin + (path && `${path}/smcp`), requiresSignIn) : []
}

export const memberCommand = (role: "agent" | "computer", office: string, rest: string): string =>
  `${["a2c", role, ...connectionWords(), "--office", office].map(quoteForShell).join(" ")} ${rest}`

export const currentOffice = (address: OfficeAddress) => findPageOffice(pageState.value, address)

/** Another text after a Computer has announced a change of one of its parts, or has joined again. */
export const versionOf = (computer: PageMember, ...parts: ReadonlyArray<ComputerPart>): string => {
  const { stream, updates } = pageState.value
  const counts = parts.map((part) => updates.get(partKey(computer, computer.name, part)) ?? 0)
  return [stream, computer.sid, ...counts].join(" ")
}

const calls = computed(() => pageState.value.calls)

/** The approvals that calls of all offices wait for. */
export const openApprovals = computed(() => findOpenApprovals(calls.value))

const hash = signal(location.hash)

/** The word of an address that opens the drawer of what needs a person, above the overview. */
const opensDrawer = (): boolean => /^#\/office\/[^/]*\/[^/]*\/inbox(?:\?|$)/.test(location.hash)

/** The drawer of what needs a person is shown. */
export const isDrawerOpen = signal(opensDrawer())

addEventListener("hashchange", () => {
  hash.value = location.hash
  if (opensDrawer()) isDrawerOpen.value = true
})

/** The view that the address names. A page for one office shows that office instead of the list. */
export const route = computed(() => {
  const parsed = parseRoute(hash.value)
  const only = session.value?.office
  return parsed._tag === "Offices" && only !== undefined ? parseRoute(officeHash(only, "overview")) : parsed
})

/** Changes parameters of the address without an entry in the history. */
export const replaceParameters = (changes: { readonly [name: string]: string | undefined }): void => {
  const current = route.peek()
  if (current._tag !== "Office") return
  const next = officeHash(current.address, current.view, { ...current.parameters, ...changes })
  if (next === location.hash) return
  history.replaceState(null, "", next)
  hash.value = next
}

/** `performance.now()` at the last message. */
let receivedAt = performance.now()

/** The time of the Server in milliseconds of the epoch. */
export const serverNow = (): number => pageState.peek().at + performance.now() - receivedAt

/** The time of the Server, renewed at an interval in milliseconds. */
export const useServerTime = (interval: number): number => {
  const [now, setNow] = useState(serverNow)
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), interval)
    return () => clearInterval(timer)
  }, [interval])
  return now
}

/** Messages that wait to be applied. More than these are applied at once. */
const maxPendingMessages = 200

/** How long messages wait, in milliseconds: the page renders several of them at once, and rarely while it is hidden. */
const shownDelay = 16
const hiddenDelay = 500

let pending: Array<PageMessage> = []

const applyPending = (): void => {
  const messages = pending
  pending = []
  pageState.value = messages.reduce(applyMessage, pageState.peek())
}

/** Applies a message after a short time, with those that arrive until then. */
export const receive = (message: PageMessage): void => {
  receivedAt = performance.now()
  const count = pending.push(message)
  if (count === 1) setTimeout(applyPending, document.hidden ? hiddenDelay : shownDelay)
  else if (count > maxPendingMessages) applyPending()
}
