import { Clock, Effect, Option, Stream } from "effect"
import * as JsonSchemaValidator from "../../../adapters/jsonSchema/JsonSchemaValidator.ts"
import { promptForForm } from "../../../adapters/terminal/answerPrompt.ts"
import { Computer } from "../../../application/computer/Computer.ts"
import { makeParamsCheck } from "../../../application/shared/paramsCheck.ts"
import type { Approval, ApprovalAnswer } from "../../../domain/approvals/Approval.ts"
import { formatDecision, fromInputAnswer } from "../../../domain/approvals/Approval.ts"
import { toApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import type { Grant } from "../../../domain/approvals/standingApprovals.ts"
import { failCommand } from "../../CommandFailed.ts"
import { parseApprovalEnd } from "../arguments/approvalEnd.ts"
import { approvalRow, formatApproval, shortId } from "../output/approvalText.ts"
import { formatColumns } from "../output/format.ts"
import { completeFirst, type ReplCommand } from "./ReplCommand.ts"

const openApprovals = Computer.use(({ approvals }) =>
  Effect.map(Stream.runHead(approvals), (head) => Option.getOrElse(head, (): ReadonlyArray<Approval> => []))
)

const findById = <A extends { readonly id: string }>(all: ReadonlyArray<A>, given: string): A | undefined => {
  const found = all.filter(({ id }) => id.startsWith(given))
  return found.length === 1 && given !== "" ? found[0] : undefined
}

const findOpen = Effect.fnUntraced(function* (given: string) {
  const approval = findById(yield* openApprovals, given)
  return approval ?? (yield* failCommand(`No call waits for an approval with the id '${given}'`))
})

const completeApprovals = completeFirst(Effect.map(openApprovals, (open) => open.map(({ id }) => shortId(id))))

const decide = Effect.fnUntraced(function* (approval: Approval, answer: ApprovalAnswer) {
  const decided = yield* Computer.use(({ decideApproval }) => decideApproval(approval.id, answer, "terminal")).pipe(
    Effect.catch(({ message }) => failCommand(message))
  )
  return `${approval.tool}: ${formatDecision(decided, approval)}`
})

const decideById = (given: string, answer: ApprovalAnswer) =>
  Effect.flatMap(findOpen(given), (approval) => decide(approval, answer))

const currentGrants = Computer.use(({ grants }) => grants)

const formatEnd = ({ until }: Grant): string =>
  until === undefined ? "until revoked" : `until ${new Date(until).toISOString()}`

export const approvalCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "approvals",
    parameters: "[ID]",
    help: "list the calls that wait for an approval, and open questions, or show all of one",
    run: Effect.fnUntraced(function* ([id]) {
      const now = yield* Clock.currentTimeMillis
      if (id !== undefined) return formatApproval(toApprovalView(yield* findOpen(id), undefined, now, "one"))
      const open = yield* openApprovals
      return formatColumns(
        open.map((approval) =>
          approvalRow(toApprovalView(approval, undefined, now, "list"), `for ${approval.requester}`)
        ),
        "no call waits for an approval"
      )
    }),
    complete: completeApprovals
  },
  {
    name: "approve",
    parameters: "ID [always | DURATION]",
    help: "run a waiting call: once, or its tool in this office always or for a time such as 2h",
    run: ([id = "", scope]) => Effect.flatMap(parseApprovalEnd(scope), (answer) => decideById(id, answer)),
    complete: (words) => (words.length === 1 ? Effect.succeed(["always", "1h", "1d"]) : completeApprovals(words))
  },
  {
    name: "deny",
    parameters: "ID [REASON…]",
    help: "deny a waiting call; the caller sees the reason",
    run: ([id = "", ...words]) =>
      decideById(id, { action: "deny", ...(words.length > 0 && { reason: words.join(" ") }) }),
    complete: completeApprovals
  },
  {
    name: "answer",
    parameters: "ID",
    help: "enter the fields of a question; approve or deny answers one with a page",
    run: Effect.fnUntraced(function* ([id = ""], prompter) {
      const approval = yield* findOpen(id)
      const { input } = approval
      if (input?.mode !== "form") return yield* failCommand(`'${id}' is no question with a form: use approve or deny`)
      const check = yield* Effect.provide(makeParamsCheck, JsonSchemaValidator.layer)
      return yield* decide(approval, fromInputAnswer(yield* promptForForm(input, approval, prompter, check)))
    }),
    complete: completeApprovals
  },
  {
    name: "grants",
    help: "list the tools that were allowed beyond one call",
    run: Effect.fnUntraced(function* () {
      const grants = yield* currentGrants
      return formatColumns(
        grants.map((grant) => [
          shortId(grant.id),
          grant.tool,
          grant.office === undefined ? "outside an office" : `in ${grant.office}`,
          formatEnd(grant),
          `by ${grant.by}`
        ]),
        "no tool is allowed beyond one call"
      )
    })
  },
  {
    name: "revoke",
    parameters: "ID",
    help: "end a grant: the tool needs an approval again",
    run: Effect.fnUntraced(function* ([given = ""]) {
      const grant = findById(yield* currentGrants, given)
      const isRevoked = grant !== undefined && (yield* Computer.use(({ revokeGrant }) => revokeGrant(grant.id)))
      return isRevoked ? `${grant.tool} needs an approval again` : yield* failCommand(`No grant has the id '${given}'`)
    }),
    complete: completeFirst(Effect.map(currentGrants, (grants) => grants.map(({ id }) => shortId(id))))
  }
]
