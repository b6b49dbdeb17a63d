import { Effect, Schedule, Stream } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import { type ApprovalAnswer, fromInputAnswer } from "../../../domain/approvals/Approval.ts"
import { type ApprovalView, inputOf } from "../../../domain/approvals/ApprovalView.ts"
import { formatDecided } from "../../../domain/model/CallStatus.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { parseApprovalEnd } from "../arguments/approvalEnd.ts"
import { readParams } from "../arguments/argumentSource.ts"
import { failCommand } from "../../CommandFailed.ts"
import { HasOwnConnection } from "../office/officeShare.ts"
import { approvalRow, formatApproval } from "../output/approvalText.ts"
import { printLine, printResult } from "../output/print.ts"
import { makeOnInput } from "./callTool.ts"
import type * as flags from "./flags.ts"
import { printList, queryComputers, runAsAgent } from "./queries.ts"

/** The calls that wait at the Computers whose owners let Agents decide, or the one of an approval. */
const openApprovals = (computer: string, { getApprovals }: Agent["Service"], approvalId?: string) =>
  Effect.catchIf(
    getApprovals(computer, definedOnly({ approvalId })),
    (error) => error._tag === "ProtocolError" && error.code === errorCodes.forbidden,
    () => Effect.succeed<ReadonlyArray<ApprovalView>>([])
  )

const findOpen = Effect.fnUntraced(function* (options: flags.OptionsOf<"approvals">, given: string) {
  const [approval, ...others] = (yield* queryComputers(options, openApprovals))
    .flat()
    .filter(({ id }) => id.startsWith(given))
  if (approval !== undefined && others.length === 0) {
    // A list truncates what is long.
    const [whole = approval] = yield* (yield* Agent).getApprovals(approval.computer, { approvalId: approval.id })
    return whole
  }
  return yield* failCommand(`No call of this Agent waits for an approval with the id '${given}'`)
})

/** Fails when the question has ended meanwhile, or the connection, which ends for good with the command that shares it. */
const whileOpen = Effect.fnUntraced(function* <A, E>({ computer, id }: ApprovalView, answering: Effect.Effect<A, E>) {
  const agent = yield* Agent
  const isOwn = yield* HasOwnConnection
  const isOpen = Effect.map(openApprovals(computer, agent, id), ({ length }) => length > 0)
  const polled = Effect.orElseSucceed(isOpen, () => true)
  const closed = Effect.repeat(polled, { while: (open) => open, schedule: Schedule.spaced("2 seconds") })
  const lost = Stream.runHead(
    Stream.filter(agent.status, ({ _tag }) => _tag === "Failed" || (_tag === "Disconnected" && !isOwn))
  )
  return yield* Effect.raceFirst(
    answering,
    Effect.andThen(Effect.raceFirst(closed, lost), failCommand("Not answered: the question is not open any more"))
  )
})

/** The content of a form: from the words of the command, or else from the terminal. */
const readAnswer = Effect.fnUntraced(function* (approval: ApprovalView, words: ReadonlyArray<string>) {
  const input = inputOf(approval)
  if (input?.mode !== "form") return yield* failCommand("Only a question with a form has an answer: use allow or deny")
  const onInput = words.length === 0 ? yield* makeOnInput("not answered: the question stays open") : undefined
  if (onInput !== undefined) return fromInputAnswer(yield* whileOpen(approval, onInput(input, approval)))
  const content = yield* readParams(words, { schema: input.schema, subject: "The form" })
  return fromInputAnswer({ action: "accept", content })
})

const decide = Effect.fnUntraced(function* (
  options: flags.OptionsOf<"approvals">,
  approval: ApprovalView,
  answer: ApprovalAnswer
) {
  const agent = yield* Agent
  const decided = yield* agent.decideApproval(approval.computer, approval.id, answer)
  if (options.json) return yield* printResult(options, decided, "")
  const { decidedBy: by = "", input, state, tool } = decided
  const question = input && { isQuestion: true as const }
  yield* printLine(`${tool}: ${formatDecided({ by, isAllowed: state === "allowed", ...question })}`)
})

/** Lists the calls that wait for an approval, shows one, or decides about one. */
export const manageApprovals = Effect.fnUntraced(function* (options: flags.OptionsOf<"approvals">) {
  const { action, id = "", words } = options
  if (action === "list") {
    return yield* printList(
      options,
      openApprovals,
      (approval) => approvalRow(approval, `at ${approval.computer}`),
      "no call of this Agent waits for an approval that it may decide (a2c computer --approvers agent)"
    )
  }
  if (id === "") return yield* failCommand(`approvals ${action} needs the ID of an approval`)
  const approval = yield* findOpen(options, id)
  if (action === "answer") return yield* decide(options, approval, yield* readAnswer(approval, words))
  if (action === "show") return yield* printResult(options, approval, formatApproval(approval))
  if (action === "deny") {
    const reason = words.join(" ")
    return yield* decide(options, approval, { action, ...(reason !== "" && { reason }) })
  }
  return yield* decide(options, approval, yield* parseApprovalEnd(words[0]))
}, runAsAgent)
