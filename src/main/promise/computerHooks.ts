import { Cause, Duration, Effect, Option } from "effect"
import type { AuthorizationRequest, AuthorizerOptions } from "../../adapters/mcp/oauth/Authorizer.ts"
import type {
  ComputerSettings,
  ConfirmRequest,
  DpeRequest,
  ProgressReport,
  ResolvedDpe
} from "../../application/computer/ComputerSettings.ts"
import type { InputSources } from "../../application/computer/inputs/Inputs.ts"
import type { InputValue } from "../../domain/config/inputValues.ts"
import type { Input } from "../../domain/config/computerConfig.ts"

type CommandInput = Extract<Input, { readonly type: "command" }>
type Awaitable<A> = A | Promise<A>

/** Aborted when nobody waits for a hook's answer any more. */
interface HookOptions {
  readonly signal: AbortSignal
}

const durationSettings = [
  "connectTimeout",
  "startupTimeout",
  "readTimeout",
  "keepaliveInterval",
  "changeThrottle"
] as const

/** What a program decides for its Computer. A hook that throws or rejects is logged and counts as no answer. */
export interface ComputerHooks {
  /** Values of the configuration's inputs. What has none here is looked for in the environment. */
  readonly inputs?: {
    /** Values by input id, which win over everything else. */
    readonly values?: { readonly [id: string]: InputValue }
    /** Asks a person, who may have no answer. */
    readonly ask?: (
      input: Exclude<Input, CommandInput>,
      options: HookOptions
    ) => Awaitable<string | undefined>
    /** Gives what the program of an input prints. */
    readonly run?: (input: CommandInput, options: HookOptions) => Awaitable<string>
  }
  /** Shows somebody the page where an MCP server is to be authorized. */
  readonly authorize?: (request: AuthorizationRequest, options: HookOptions) => Awaitable<void>
  /** The settings of `ComputerSettings`, times in milliseconds. */
  readonly settings?: { readonly [Name in (typeof durationSettings)[number]]?: number } & {
    readonly showUnsubscribable?: boolean
    /** Asked before a tool runs that is not marked `auto_apply`; without it such calls fail with 4005. */
    readonly confirm?: (request: ConfirmRequest, options: HookOptions) => Awaitable<boolean>
    /** Turns documents into URIs; without it they are refused with 4011. */
    readonly resolveDpe?: (request: DpeRequest, options: HookOptions) => Awaitable<ResolvedDpe>
    /** Hears how far running calls are. */
    readonly onProgress?: (report: ProgressReport) => void
  }
}

const runHook = <A>(name: string, hook: (options: HookOptions) => Awaitable<A>) =>
  Effect.tryPromise(async (signal) => hook({ signal })).pipe(
    Effect.tapCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError("hook failed", { hook: name }, cause)
    )
  )

const toInputSources = ({ ask, values, run }: NonNullable<ComputerHooks["inputs"]>): InputSources => ({
  ...(values !== undefined && { values }),
  ...(ask !== undefined && {
    prompt: (input) =>
      runHook("ask", (options) => ask(input, options)).pipe(
        Effect.map(Option.fromUndefinedOr),
        Effect.catch(() => Effect.succeedNone)
      )
  }),
  ...(run !== undefined && {
    runCommand: (input) =>
      Effect.mapError(
        runHook("run", (options) => run(input, options)),
        () => ({ message: "failed" })
      )
  })
})

const toComputerSettings = (given: NonNullable<ComputerHooks["settings"]>): Partial<ComputerSettings> => {
  const { confirm, onProgress, resolveDpe, showUnsubscribable } = given
  const times = durationSettings.flatMap((name) => {
    const millis = given[name]
    return millis === undefined ? [] : [[name, Duration.millis(millis)] as const]
  })
  return {
    ...Object.fromEntries(times),
    ...(showUnsubscribable !== undefined && { showUnsubscribable }),
    ...(confirm !== undefined && {
      confirm: (request) => runHook("confirm", (options) => confirm(request, options))
    }),
    ...(resolveDpe !== undefined && {
      resolveDpe: (request) => runHook("resolveDpe", (options) => resolveDpe(request, options))
    }),
    ...(onProgress !== undefined && {
      onProgress: (report) => Effect.ignore(runHook("onProgress", () => onProgress(report)))
    })
  }
}

/** The hooks as the layers take them. */
export const toLayerOptions = ({
  authorize,
  inputs = {},
  settings = {}
}: ComputerHooks): Pick<AuthorizerOptions, "authorize"> & {
  readonly inputs: InputSources
  readonly settings: Partial<ComputerSettings>
} => ({
  inputs: toInputSources(inputs),
  settings: toComputerSettings(settings),
  ...(authorize !== undefined && {
    authorize: (request) => Effect.ignore(runHook("authorize", (options) => authorize(request, options)))
  })
})
