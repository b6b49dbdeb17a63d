import { Schema } from "effect"
import { lineNamed, lineNames } from "../../src/domain/wire/lines.ts"
import type { EventDefinition, ProtocolLine } from "../../src/domain/wire/ProtocolLine.ts"
import { AgentCallData, CallStatusData, ComputerRef, OfficeNotification } from "../../src/domain/wire/v0_2/messages.ts"
import { notificationEvents } from "../../src/domain/wire/v0_2/notifications.ts"
import { code, codes, page, table } from "./markdown.ts"
import { fieldTable } from "./schemas.ts"

/** An event of one line. A body without fields in its schema is described by a text. */
interface LineEvent {
  readonly event: string
  readonly aliases: ReadonlyArray<string>
  readonly from: string
  readonly to: string
  readonly body: Schema.Top
  readonly reply: Schema.Top | string | undefined
  readonly line: string
  readonly isExtension?: boolean
}

const membershipReply = "`[true, null]`, or `[false, reason]`"

const senders = { agent: "Agent", computer: "Computer", member: "Agent or Computer" } as const

const requestOf = (line: ProtocolLine, definition: EventDefinition): LineEvent => {
  const { event, kind } = definition
  const base = { event, aliases: [], from: senders[definition.from], to: "Server", line: line.name }
  switch (kind) {
    case "call": {
      const call = Object.values(line.calls).find((one) => one?.event === event)
      if (call === undefined) throw new Error(`no call ${event}`)
      const { aliases, isExtension, reply, request } = call
      return { ...base, aliases, to: "Computer", body: request.schema, reply: reply.schema, isExtension }
    }
    case "join":
    case "leave":
      return { ...base, body: definition.request.schema, reply: membershipReply }
    case "list":
      return { ...base, body: definition.request.schema, reply: definition.reply.schema }
    case "callStatus":
      return { ...base, body: CallStatusData, reply: definition.waitAck.schema }
    case "update":
    case "cancel":
      return { ...base, body: definition.request.schema, reply: undefined }
  }
}

const notificationsOf = (line: ProtocolLine): ReadonlyArray<LineEvent> => {
  const base = { aliases: [], from: "Server", reply: undefined, line: line.name }
  const office = "all others of the office"
  return [
    { ...base, event: notificationEvents.entered, to: office, body: OfficeNotification },
    { ...base, event: notificationEvents.left, to: office, body: OfficeNotification },
    { ...base, event: notificationEvents.cancelled, to: "Computers of the office", body: AgentCallData },
    ...Object.values(line.updates).map(({ notification: event }) => ({
      ...base,
      event,
      to: office,
      body: ComputerRef
    })),
    { ...base, event: line.callStatus.notification, to: "the Agent of the call", body: CallStatusData },
    { ...base, event: line.replacedEvent, to: "the replaced member", body: Schema.Struct({ reason: Schema.String }) }
  ]
}

const eventsOf = (line: ProtocolLine): ReadonlyArray<LineEvent> => {
  const definitions: ReadonlyArray<EventDefinition | undefined> = [
    ...Object.values(line.serverRequests),
    ...Object.values(line.calls),
    ...Object.values(line.updates),
    line.cancel,
    line.callStatus
  ]
  return [
    ...definitions.flatMap((definition) => (definition === undefined ? [] : [requestOf(line, definition)])),
    ...notificationsOf(line)
  ]
}

const describe = (content: Schema.Top | string | undefined): string =>
  content === undefined || typeof content === "string"
    ? (content ?? "")
    : fieldTable("field", content) || "An object with members of any name."

/** A body or a reply; lines with the same one share it. */
const contentOf = (what: "Body" | "Reply", uses: ReadonlyArray<LineEvent>): ReadonlyArray<string> => {
  const byText = Map.groupBy(uses, (use) => describe(what === "Body" ? use.body : use.reply))
  return [...byText].flatMap(([text, same]) => {
    const where = byText.size === 1 ? "" : ` on ${same.map(({ line }) => line).join(" and ")}`
    return text === "" ? [] : [`${what}${where}:`, text]
  })
}

export const eventsPage = (): string => {
  const all = lineNames.map(lineNamed).flatMap(eventsOf)
  const byEvent = [...Map.groupBy(all, ({ event }) => event)]
  const linesOf = (uses: ReadonlyArray<LineEvent>) =>
    uses.length === lineNames.length ? "all" : uses.map(({ line }) => line).join(", ")
  return page(
    "Events",
    `The events of the protocol lines ${lineNames.join(", ")}. [protocol-lines.md](../protocol-lines.md) explains their differences.`,
    "A request to a Computer passes the Server, which checks that both are in one office. The acknowledgement of a request is its reply, or an [error](errors.md) with `code` and `message`. A field with the value `null` is absent.",
    table(
      ["event", "from", "to", "lines"],
      byEvent.map(([event, uses]) => [
        `[${code(event)}](#${event.replaceAll(/[^\w-]/g, "").toLowerCase()})`,
        uses[0]?.from ?? "",
        uses[0]?.to ?? "",
        linesOf(uses)
      ])
    ),
    ...byEvent.flatMap(([event, uses]) => {
      const [use] = uses
      if (use === undefined) return []
      const { aliases, from, to } = use
      const since = uses.length === lineNames.length ? "" : ` Line ${linesOf(uses)} only.`
      const extension = use.isExtension === true ? " Not part of the protocol." : ""
      const spelling = aliases.length === 0 ? "" : ` Also spelled ${codes(aliases)}.`
      return [
        `## ${event}`,
        `From ${from} to ${to}.${spelling}${since}${extension}`,
        ...contentOf("Body", uses),
        ...contentOf("Reply", uses)
      ]
    })
  )
}
