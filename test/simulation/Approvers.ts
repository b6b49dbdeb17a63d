import { Deferred, Duration, Effect, Layer, Result, type Scope, Semaphore, Stream } from "effect"
import * as MemoryApprovalStore from "../adapters/approvals/MemoryApprovalStore.ts"
import type { Computer } from "../../src/application/computer/Computer.ts"
import { ComputerSettings, type RemoteApprover } from "../../src/application/computer/ComputerSettings.ts"
import { ApprovalStore } from "../../src/application/ports/approvals/ApprovalStore.ts"
import { AuditLog } from "../../src/application/ports/AuditLog.ts"
import type { ApprovalAnswer } from "../../src/domain/approvals/Approval.ts"
import { isJsonObject } from "../../src/domain/json.ts"
import type { History, TrackedApproval } from "./History.ts"
import type { Sabotage } from "./World.ts"

/** How long a call waits for an approval, in milliseconds. */
export const approvalTimeout = 8000

/** How long a store takes to save, in milliseconds: other approvers answer meanwhile, and connections close. */
const saveTime = 5

/** How long several saves take, in milliseconds. */
const savesTime = 10 * saveTime

/** The answer of the program of a Computer, which names itself. */
type ProgramAnswer = ApprovalAnswer & { readonly by: string }

/** A process of a Computer. */
interface Owner {
  readonly computer: string
  readonly incarnation: number
  readonly approvers: ReadonlyArray<RemoteApprover>
}

export interface Approvers {
  /** The settings, the audit and the store of a Computer's process. `machine` is its index. */
  readonly layer: (owner: Owner, machine: number) => Layer.Layer<ApprovalStore | AuditLog>
  /** Records the approvals of a process as long as the scope, with what the world tells about a new one. */
  readonly observe: (
    owner: Owner,
    service: Computer["Service"],
    about: () => Pick<TrackedApproval, "revisions" | "undisturbed">
  ) => Effect.Effect<void, never, Scope.Scope>
  /** The approvals of a process have ended with it. */
  readonly close: (owner: Owner) => void
  /** True while the program of a Computer is asked about an approval. */
  readonly isProgramApprover: (approval: string) => boolean
  readonly answerByProgram: (approval: string, answer: ProgramAnswer) => void
}

/** Makes the approvers of some machines. The grants of a machine outlive the processes of its Computer. */
export const makeApprovers = Effect.fnUntraced(function* (
  machines: number,
  sabotage: Pick<Sabotage, "settings" | "store">,
  { approvals, counts, decisions }: History,
  note: (line: string) => void,
  now: () => number
): Effect.fn.Return<Approvers, never, Scope.Scope> {
  const prompts = new Map<string, Deferred.Deferred<ProgramAnswer>>()
  const { settings: changeSettings = (original) => original, store: changeStore = (original) => original } = sabotage
  const defaults = yield* ComputerSettings
  const settingsOf = ({ approvers }: Owner) =>
    changeSettings({
      ...defaults,
      approvers,
      approvalTimeout: Duration.millis(approvalTimeout),
      confirm: ({ id }) =>
        Effect.suspend(() => {
          const prompt = Deferred.makeUnsafe<ProgramAnswer>()
          prompts.set(id, prompt)
          return Effect.ensuring(
            Deferred.await(prompt),
            Effect.sync(() => void prompts.delete(id))
          )
        })
    })

  const makeStore = Effect.gen(function* () {
    const { load, save } = yield* ApprovalStore
    // A process starts after the last save of the previous one.
    const lock = yield* Semaphore.make(1)
    return changeStore({
      load: (computer) => lock.withPermit(load(computer)),
      // As a file, which is written as a whole.
      save: (computer, stored) =>
        Effect.uninterruptible(lock.withPermit(Effect.andThen(Effect.sleep(saveTime), save(computer, stored))))
    })
  })
  const stores = yield* Effect.forEach(Array.from({ length: machines }), () =>
    Effect.flatMap(Layer.build(Layer.fresh(MemoryApprovalStore.layer)), (context) =>
      Effect.provideContext(makeStore, context)
    )
  )

  const auditOf = ({ computer, incarnation }: Owner): AuditLog["Service"] => ({
    lostCount: () => 0,
    record: ({ fields: { action, by, question }, request, time }) => {
      const value = request && Result.getOrUndefined(request.value())
      const params = isJsonObject(value) && isJsonObject(value["params"]) ? value["params"] : {}
      const call = String(params["id"])
      const name = typeof by === "string" ? by : undefined
      const isQuestion = question !== undefined
      decisions.push({ at: time, computer, incarnation, call, isQuestion, action: String(action), by: name })
      // A program receives no reply to its answer.
      for (const one of approvals.values()) {
        const answer =
          one.call === call ? one.answers.find((other) => other.kind === "program" && other.by === name) : undefined
        if (answer === undefined) continue
        answer.outcome = "accepted"
        answer.settledAt = time + savesTime
      }
    }
  })

  return {
    layer: (owner, machine) => {
      const store = stores[machine]
      return Layer.mergeAll(
        Layer.succeed(ComputerSettings, settingsOf(owner)),
        Layer.succeed(AuditLog, auditOf(owner)),
        store === undefined ? MemoryApprovalStore.layer : Layer.succeed(ApprovalStore, store)
      )
    },
    observe: ({ approvers, computer, incarnation }, { approvals: changes }, about) =>
      Stream.runForEach(changes, (open) =>
        Effect.sync(() => {
          for (const { id, input, params, requester: agent } of open) {
            if (approvals.has(id)) continue
            const call = String(params["id"])
            const isQuestion = input !== undefined
            if (isQuestion) counts.questions += 1
            else counts.approvals += 1
            note(`${call} of ${agent} waits for ${isQuestion ? "an answer" : "an approval"} at ${computer}`)
            approvals.set(id, {
              id,
              call,
              agent,
              office: String(params["from"]),
              computer,
              incarnation,
              isQuestion,
              approvers,
              ...about(),
              openedAt: now(),
              closedAt: undefined,
              answers: []
            })
          }
          for (const one of approvals.values()) {
            if (one.computer !== computer || one.incarnation !== incarnation || one.closedAt !== undefined) continue
            if (open.some(({ id }) => id === one.id)) continue
            one.closedAt = now()
            note(`the approval of ${one.call} at ${computer} ends`)
          }
        })
      ),
    close: ({ computer, incarnation }) => {
      for (const one of approvals.values()) {
        if (one.computer === computer && one.incarnation === incarnation) one.closedAt ??= now()
      }
    },
    isProgramApprover: (approval) => prompts.has(approval),
    answerByProgram: (approval, answer) => {
      const prompt = prompts.get(approval)
      prompts.delete(approval)
      if (prompt !== undefined) Deferred.doneUnsafe(prompt, Effect.succeed(answer))
    }
  }
})
