import { Cause, Effect, Layer, Option, Result } from "effect"
import type { AuthorizerOptions } from "../../../adapters/mcp/oauth/Authorizer.ts"
import {
  ComputerSettings,
  type Confirm,
  type OnInput,
  type ProgressReport,
  type ResolveDpe
} from "../../../application/computer/ComputerSettings.ts"
import * as RulePolicy from "../../../application/computer/calls/RulePolicy.ts"
import type { InputSources } from "../../../application/computer/inputs/Inputs.ts"
import type { Input } from "../../../domain/config/computerConfig.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { fillDefaults } from "../../../domain/packs/params/coerceParams.ts"
import { parseRules } from "../../../domain/policy/parseRules.ts"
import { formatIssues } from "../../../domain/validation.ts"
import { A2cError } from "../../A2cError.ts"
import { Policy } from "../../../application/ports/approvals/Policy.ts"
import { fromMillis, type InMillis } from "../durations.ts"

export type Awaitable<A> = A | Promise<A>

/** The signal aborts when the result of the hook is no longer needed. */
export interface HookOptions {
  readonly signal: AbortSignal
}

/** A hook for a function that gives an effect. */
export type HookOf<F> = F extends (input: infer I) => Effect.Effect<infer A, infer _>
  ? (input: I, options: HookOptions) => Awaitable<A>
  : never

/** The settings without hooks, and those that are options themselves. */
type PlainSettings = Omit<
  ComputerSettings,
  "approve" | "approvers" | "confirm" | "onInput" | "onProgress" | "resolveDpe"
>

/** Hooks of a Computer. A hook that throws or rejects is logged, and counts as a hook without a result. */
export interface ComputerHooks extends Partial<Pick<ComputerSettings, "approve" | "approvers">> {
  /** Values of the configuration's inputs; the environment provides the values of other inputs. */
  readonly inputs?: Pick<InputSources, "values"> & {
    /** Asks the user; `undefined` means no answer. */
    readonly ask?: (
      input: Exclude<Input, { readonly type: "command" }>,
      options: HookOptions
    ) => Awaitable<string | undefined>
    /** Runs the program of an input; resolves with its output. */
    readonly run?: HookOf<NonNullable<InputSources["runCommand"]>>
  }
  /**
   * Decides a call: a function, or rules as data, `{rules: [{action, tool, …}]}`. `undefined` leaves it to `auto_apply`,
   * `approve` and `confirm`. A failure denies the call.
   */
  readonly policy?: HookOf<NonNullable<Policy["Service"]>["decide"]> | { readonly rules: ReadonlyArray<object> }
  /**
   * Decides about calls that nothing else allows: `true` allows this call, `false` denies it. The signal aborts when another
   * approver answers first. Without this hook and without `approvers` such calls fail with 4005.
   */
  readonly confirm?: HookOf<Confirm>
  /**
   * Answers a question of an MCP server, beside the calling Agent and operators that are `approvers`. Without any of them
   * the question is declined at once. An accepted form has the defaults of the fields that the answer omits. The signal aborts
   * when another responder answers first.
   */
  readonly onInput?: HookOf<OnInput>
  /** Shows the user the page that authorizes an MCP server. */
  readonly authorize?: HookOf<NonNullable<AuthorizerOptions["authorize"]>>
  /** As in `ComputerSettings`, times in milliseconds. */
  readonly settings?: InMillis<PlainSettings> & {
    /** Resolves documents to URIs that an Agent can fetch; without this hook requests fail with 4011. */
    readonly resolveDpe?: HookOf<ResolveDpe>
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

/** A program omits the fields that it does not know. In a form, an omitted field is a choice: its default was shown (SEP-1034). */
const answerWithDefaults = (onInput: ComputerHooks["onInput"]): ComputerHooks["onInput"] =>
  onInput &&
  (async (question, options) => {
    const answer = await onInput(question, options)
    return question.input.mode === "form" && answer.action === "accept"
      ? { ...answer, content: fillDefaults(question.input.schema, answer.content ?? {}) }
      : answer
  })

/** The policy of a Computer; without one, `auto_apply` and consent decide. Throws for invalid rules. */
export const toPolicyLayer = ({ policy }: ComputerHooks): Layer.Layer<Policy> => {
  if (typeof policy === "object") {
    const rules = parseRules(policy)
    if (Result.isSuccess(rules)) return RulePolicy.layer(rules.success)
    throw new A2cError("config_invalid", `The policy cannot be used: ${formatIssues(rules.failure)}`)
  }
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
    ...definedOnly({ approve, approvers, onInput: hookEffect("onInput", answerWithDefaults(onInput)) })
  },
  ...definedOnly({
    authorize: adaptHook("authorize", authorize, (done) => Effect.ignore(done)),
    confirm: hookEffect("confirm", confirm)
  })
})
