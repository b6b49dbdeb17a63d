import type { Effect, Scope, Stream } from "effect"
import type { ExpectedError } from "../A2cError.ts"
import {
  type ArgumentCheck,
  checkArguments,
  checkCancellable,
  checkOptions,
  type ChecksOf,
  type OptionChecks
} from "./checkArguments.ts"
import type { Cancellable, RunningService } from "./RunningService.ts"

/** The arguments of a method with the signal in its options, which are the last argument. */
type WithSignal<Args extends ReadonlyArray<unknown>> =
  Args extends Required<Args>
    ? [...Args, options?: Cancellable]
    : Required<Args> extends readonly [...infer First, infer Options]
      ? [...First, options?: Cancellable & Options]
      : never

type PromisedResult<Result> =
  Result extends Effect.Effect<infer A, ExpectedError>
    ? Promise<A>
    : Result extends Stream.Stream<infer A>
      ? AsyncIterable<A>
      : never

/** Members of a service: effects as promises, streams as iterables. */
export type PromisedMembers<Service, Names extends keyof Service> = {
  readonly [Name in keyof Pick<Service, Names>]: Service[Name] extends (...args: infer Args) => infer Result
    ? (...args: WithSignal<Args>) => PromisedResult<Result>
    : (options?: Cancellable) => PromisedResult<Service[Name]>
}

/** {@link ChecksOf} for the last argument of a method. */
type LastChecksOf<Args> =
  Required<Args> extends readonly [...ReadonlyArray<unknown>, infer Last] ? ChecksOf<Omit<Last, "signal">> : never

type Underlying<Result> =
  Result extends Promise<infer A>
    ? Effect.Effect<A, ExpectedError, Scope.Scope>
    : Result extends AsyncIterable<infer A>
      ? Stream.Stream<A>
      : never

interface Row<Service, Options, Args extends ReadonlyArray<unknown>, Running> {
  /** The arguments before the options. */
  readonly required?: ReadonlyArray<ArgumentCheck>
  /** The options besides `signal`. Without these checks others are ignored, as hosts pass their context. */
  readonly options?: Options
  /** Gives an iterable instead of a promise, and so throws. */
  readonly iterates?: true
  /** What runs; by default the member of the service. It gets options without the signal. */
  readonly call?: (service: Service, ...args: Args) => Running
}

/** A row for each method of a façade. */
export type MethodRows<Service, Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (...args: infer Args) => infer Result
    ? Row<Service, LastChecksOf<Args>, Required<Args>, Underlying<Result>>
    : never
}

/** Rows for members of a service that a façade promises as they are. */
export type MemberRows<Service> = Partial<MethodRows<Service, PromisedMembers<Service, keyof Service>>>

/** A row without the types of its method. */
export type AnyMethodRow<Service> = Row<
  Service,
  OptionChecks,
  ReadonlyArray<unknown>,
  Effect.Effect<unknown, ExpectedError, Scope.Scope>
>

/** Makes the methods of a façade, which check their arguments before they run. */
export const makeMethods = <Service extends object, Methods>(
  { iterate, run }: Pick<RunningService<Service>, "iterate" | "run">,
  rows: MethodRows<Service, Methods>
): Methods => {
  const methods = Object.entries<AnyMethodRow<Service>>(rows as never).map(([name, row]) => {
    const { call, iterates = false, options, required = [] } = row
    const method = (...args: ReadonlyArray<unknown>) => {
      checkArguments(name, required, args)
      const last = args[required.length]
      if (last !== undefined) checkCancellable(last)
      if (last !== undefined && options !== undefined) {
        checkOptions(name, { ...options, signal: "signal" }, Object(last))
      }
      const { signal, ...own } = Object(last ?? {})
      const given = [...args.slice(0, required.length), own]
      const use = (service: Service) => {
        if (call !== undefined) return call(service, ...given)
        const member = Reflect.get(service, name)
        return typeof member === "function" ? Reflect.apply(member, service, given) : member
      }
      return iterates ? iterate(use as never, { signal }) : run(use, { signal })
    }
    return [name, iterates ? method : async (...args: ReadonlyArray<unknown>) => method(...args)] as const
  })
  return Object.fromEntries(methods) as Methods
}
