import { Cause, Effect, Layer, Option } from "effect"
import type { AuthorizationRequest } from "../../adapters/mcp/oauth/Authorizer.ts"
import {
  ComputerSettings,
  type DpeRequest,
  type ProgressReport,
  type RemoteApprover,
  type ResolvedDpe
} from "../../application/computer/ComputerSettings.ts"
import type { Approval, ApprovalAnswer, Question } from "../../domain/approvals/Approval.ts"
import type { InputAnswer } from "../../domain/model/InputRequest.ts"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import type { InputValue } from "../../domain/config/inputValues.ts"
import type { Input } from "../../domain/config/computerConfig.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { PolicyCall, PolicyDecision } from "../../domain/policy/Rule.ts"
import { Policy } from "../../application/ports/approvals/Policy.ts"
import { fromMillis, type InMillis } from "./durations.ts"

type CommandInput = Extract<Input, { readonly type: "command" }>
export type Awaitable<A> = A | Promise<A>

/** The signal aborts when the result of the hook is no longer needed. */
export interface HookOptions {
  readonly signal: AbortSignal
}

/** The settings without hooks, and those that are options themselves. */
type PlainSettings = Omit<
  ComputerSettings,
  "approve" | "approvers" | "confirm" | "onInput" | "onProgress" | "resolveDpe"
>

/** Hooks of a Computer. A hook that throws or rejects is logged, and counts as a hook without a result. */
export interface ComputerHooks {
  /** Values of the configuration's inputs; the environment provides the values of other inputs. */
  readonly inputs?: {
    /** Values by input id; they take precedence over every other source. */
    readonly values?: { readonly [id: string]: InputValue }
    /** Asks the user; `undefined` means no answer. */
    readonly ask?: (input: Exclude<Input, CommandInput>, options: HookOptions) => Awaitable<string | undefined>
    /** Runs the program of an input; resolves with its output. */
    readonly run?: (input: CommandInput, options: HookOptions) => Awaitable<string>
  }
  /** Patterns of tools that run without a question, unless `policy` decides otherwise: `SERVER/TOOL` or `TOOL`. */
  readonly approve?: ReadonlyArray<string>
  /** Decides a call; `undefined` leaves it to `auto_apply`, `approve` and `confirm`. A failure denies the call. */
  readonly policy?: (call: PolicyCall, options: HookOptions) => Awaitable<PolicyDecision | undefined>
  /**
   * Decides about calls that nothing else allows: `true` allows this call, `false` denies it. The signal aborts when another
   * approver answers first. Without this hook and without `approvers` such calls fail with 4005.
   */
  readonly confirm?: (
    approval: Approval,
    options: HookOptions
  ) => Awaitable<boolean | (ApprovalAnswer & { readonly by?: string })>
  /**
   * Answers a question of an MCP server, beside the calling Agent and operators that are `approvers`. Without any of them
   * the question is declined at once. The signal aborts when another responder answers first.
   */
  readonly onInput?: (question: Question, options: HookOptions) => Awaitable<InputAnswer & { readonly by?: string }>
  /** Who else may decide about them: operators on the office page, and the program of the calling Agent. */
  readonly approvers?: ReadonlyArray<RemoteApprover>
  /** Shows the user the page that authorizes an MCP server. */
  readonly authorize?: (request: AuthorizationRequest, options: HookOptions) => Awaitable<void>
  /** As in `ComputerSettings`, times in milliseconds. */
  readonly settings?: InMillis<PlainSettings> & {
    /** Resolves documents to URIs that an Agent can fetch; without this hook requests fail with 4011. */
    readonly resolveDpe?: (request: DpeRequest, options: HookOptions) => Awaitable<ResolvedDpe>
    /** Receives the progress of running calls. */
    readonly onProgress?: (report: ProgressReport) => void
  }
}

type Hook<I, A> = ((input: I, options: HookOptions) => Awaitable<A>) | undefined

/** Wraps a hook as an effect that logs its failure, and adapts its result. */
const adaptHook = <I, A, B, E>(
  name: string,
  hook: Hook<I, A>,
  adapt: (result: Effect.Effect<A, Cause.UnknownError>) => Effect.Effect<B, E>
) =>
  hook &&
  ((input: I) =>
    Effect.tryPromise(async (signal) => hook(input, { signal })).pipe(
      Effect.tapCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("hook failed", { hook: name }, cause)
      ),
      adapt
    ))

const hookEffect = <I, A>(name: string, hook: Hook<I, A>) => adaptHook(name, hook, (result) => result)

const toInputSources = ({ ask, run, values }: NonNullable<ComputerHooks["inputs"]>): InputSources =>
  definedOnly({
    values,
    prompt: adaptHook("ask", ask, (answer) =>
      Effect.catch(Effect.map(answer, Option.fromUndefinedOr), () => Effect.succeedNone)
    ),
    runCommand: adaptHook("run", run, (output) => Effect.mapError(output, () => ({ message: "failed" })))
  })

const toComputerSettings = ({ onProgress, resolveDpe, ...settings }: NonNullable<ComputerHooks["settings"]>) => ({
  ...fromMillis<PlainSettings>(ComputerSettings.defaultValue(), settings),
  ...definedOnly({
    resolveDpe: hookEffect("resolveDpe", resolveDpe),
    onProgress: adaptHook("onProgress", onProgress, (done) => Effect.ignore(done))
  })
})

/** The policy of a Computer; without the hook, `auto_apply` and consent decide. */
export const toPolicyLayer = ({ policy }: ComputerHooks): Layer.Layer<Policy> => {
  const decide = hookEffect("policy", policy)
  return Layer.succeed(Policy, decide && { decide })
}

/** Replaces the hooks of options by what they are for the layer of a Computer. */
export const toLayerOptions = <Options extends ComputerHooks>({
  approve,
  approvers,
  authorize,
  confirm,
  inputs = {},
  onInput,
  policy: _,
  settings = {},
  ...others
}: Options) => ({
  ...others,
  inputs: toInputSources(inputs),
  settings: {
    ...toComputerSettings(settings),
    ...definedOnly({ approve, approvers, onInput: hookEffect("onInput", onInput) })
  },
  ...definedOnly({
    authorize: adaptHook("authorize", authorize, (done) => Effect.ignore(done)),
    confirm: hookEffect("confirm", confirm)
  })
})
