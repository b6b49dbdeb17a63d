import { Duration } from "effect"
import type { ApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import { type DiffPart, diffLines, groupDiff } from "../../../domain/approvals/diffLines.ts"
import { describeToolChange } from "../../../domain/approvals/toolChange.ts"
import { wrapLines } from "./columns.ts"
import { formatFields, truncateLine } from "./format.ts"
import { tableColumns } from "./screen.ts"

/** How long an approval stays open. */
const formatTimeLeft = (expiresIn: number): string =>
  `${Duration.format(Duration.seconds(Math.max(0, Math.round(expiresIn / 1000))))} left`

const gutters: { readonly [K in DiffPart["kind"]]: string } = { same: "  ", removed: "- ", added: "+ ", omitted: "  " }

const formatPart = ({ count, kind, text }: DiffPart): string =>
  (kind === "omitted" ? `(${count} lines are the same)` : text).replaceAll(/^/gm, gutters[kind])

/** Indents foreign text, so that none of its lines looks like other output. */
const indent = (text: string): string => text.replaceAll(/^/gm, gutters.same)

const formatArguments = ({ arguments: now, previousArguments: before }: ApprovalView): string => {
  if (before === undefined) return `arguments:\n${indent(now)}`
  if (before === now) return `arguments, the same as those of the last approved call:\n${indent(now)}`
  const parts = groupDiff(diffLines(before, now)).map(formatPart)
  return `arguments, compared with those of the last approved call:\n${parts.join("\n")}`
}

/** The start of an id, by which a user names an approval or a grant. */
export const shortId = (id: string): string => id.slice(0, 8)

/** The row of an approval in a list; `place` is what its other rows do not share. */
export const approvalRow = (approval: ApprovalView, place: string): ReadonlyArray<string> => [
  shortId(approval.id),
  approval.tool,
  place,
  formatTimeLeft(approval.expiresIn),
  summarizeApproval(approval),
  truncateLine((approval.input?.message ?? approval.arguments).replace(/\s+/g, " "))
]

/** What a call waits for, in a list: the message of a question, or else the arguments. */
const summarizeApproval = ({ change, input }: Pick<ApprovalView, "change" | "input">): string => {
  if (input !== undefined) return input.mode === "form" ? "question" : "page to open"
  return change === undefined ? "" : "tool has changed"
}

const formatQuestion = (input: NonNullable<ApprovalView["input"]>): string => {
  const message = `message:\n${indent(input.message)}`
  if (input.mode === "url") {
    const { host, href } = URL.canParse(input.url) ? new URL(input.url) : { host: "unknown", href: input.url }
    return `${message}\n${formatFields([["host", host]])}\npage:\n${href}`
  }
  return `${message}\nform:\n${indent(JSON.stringify(input.schema ?? {}, null, 2))}`
}

/**
 * Formats all that an approver needs to decide: the call, why it waits, and what changed since the last approval; or the
 * question to answer.
 */
export const formatApproval = (approval: ApprovalView): string => {
  const { askedBy, change, computer, expiresIn, id, input, reason, requester, server, tool } = approval
  const rows = formatFields([
    ["id", id],
    ["tool", tool],
    ["MCP server", server],
    ["computer", computer],
    ["caller", requester],
    ["asked by", reason === undefined ? askedBy : `${askedBy}: ${reason}`],
    ["expires", formatTimeLeft(expiresIn)],
    ...(change === undefined
      ? []
      : [["changed", `since ${change.approvedBy} approved the tool at ${new Date(change.approvedAt).toISOString()}`]]),
    ...(change === undefined ? [] : describeToolChange(change)).flatMap(({ after, before, sentences, title }) =>
      sentences.length > 0
        ? sentences.map((sentence) => [title, sentence])
        : [
            [`${title} before`, before],
            [`${title} now`, after]
          ]
    )
  ])
  const text = `${input === undefined ? "" : `${formatQuestion(input)}\n`}${formatArguments(approval)}`
  return `${rows}\n${wrapLines(text, tableColumns())}`
}
