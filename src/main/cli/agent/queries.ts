import { Context, Duration, Effect, Fiber, Layer, type Scope } from "effect"
import { Agent, type AgentOptions, type AgentShape } from "../../../application/agent/Agent.ts"
import { AmbiguousTool } from "../../../application/agent/OfficeView.ts"
import { formatSome } from "../../../domain/errorMessage.ts"
import { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { ownCodes } from "../../A2cError.ts"
import { type CommandError, CommandFailed, failCommand, toCommandFailed } from "../../CommandFailed.ts"
import { formatColumns } from "../output/format.ts"
import { type OutputOptions, printJson, printProgress, printResult, reportFailure } from "../output/print.ts"
import { agentLayer } from "../../layers/agentLayer.ts"
import { memberConnection } from "../memberConnection.ts"
import { joinOptions } from "../office/joinFlags.ts"
import { explainJoinRejection } from "../office/joinRejections.ts"
import { sharedAgentLayer, shareWithCommands } from "../office/officeShare.ts"
import type * as flags from "./flags.ts"

const explainAgentError = (error: CommandError): CommandFailed => {
  if (error instanceof AmbiguousTool) {
    const choice = `choose one by --computer ${error.owners.join("|")}`
    return new CommandFailed({
      message: `Several Computers have a tool '${error.tool}': ${choice}`,
      code: ownCodes.AmbiguousTool
    })
  }
  return error instanceof ProtocolError
    ? new CommandFailed({ message: `${error.message} (${error.code})`, code: error.code })
    : toCommandFailed(error)
}

const runWithAgent = <E extends CommandError, E2, R>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  options: flags.AgentSharedOptions,
  layer: Layer.Layer<Agent, E2, R>
) =>
  Effect.mapError(action, explainAgentError).pipe(
    Effect.provide(layer),
    explainJoinRejection("agent", options),
    Effect.scoped
  )

const joiningLayer = (
  { name, office, server, tlsCa, tokenFile, ...terms }: flags.AgentSharedOptions,
  options: Pick<AgentOptions, "retryInitialConnect" | "followsComputers">
) =>
  Layer.unwrap(
    Effect.map(memberConnection({ tlsCa, tokenFile }), (connection) =>
      agentLayer({ url: server, office, name, ...options, ...joinOptions(terms), ...connection })
    )
  )

/** Whether commands join an office when they have no connection of another command. */
export const MayJoin = Context.Reference("a2c-smcp/main/cli/agent/MayJoin", { defaultValue: () => true })

/**
 * Acts through the connection of another command with the same identity; without one it joins, acts and leaves. By default it reads
 * from Computers only what the action asks for.
 */
export const runAsAgent = <E extends CommandError>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  options: flags.AgentSharedOptions,
  followsComputers = false
) => {
  const joining = Layer.unwrap(
    Effect.flatMap(MayJoin, (mayJoin) =>
      mayJoin
        ? Effect.succeed(joiningLayer(options, { followsComputers }))
        : failCommand("No other command shares the office")
    )
  )
  return runWithAgent(
    action,
    options,
    options.takeOver ? joining : sharedAgentLayer(options, followsComputers, joining)
  )
}

/**
 * Joins the office, acts until it is stopped, and leaves. Meanwhile other commands may use its connection: as the Agent that
 * `toShared` gives. With `retryInitialConnect` an unreachable Server is retried; without it the command fails.
 */
export const runAsSharingAgent = <E extends CommandError>(
  action: Effect.Effect<void, E, Agent | Scope.Scope>,
  options: flags.AgentSharedOptions,
  retryInitialConnect: boolean,
  toShared: (agent: AgentShape) => AgentShape = (agent) => agent
) => {
  // In the background: the action must not miss events that follow the join.
  const sharing = Effect.forkScoped(Effect.updateService(shareWithCommands(options), Agent, toShared))
  return runWithAgent(Effect.andThen(sharing, action), options, joiningLayer(options, { retryInitialConnect }))
}

/** States that an office, which exists as soon as someone joins it, has no Computer. */
export const withoutComputer = (office: string): string =>
  `Office '${office}' has no Computer: check --office and --protocol, or start a Computer`

/** The Computers of the office, or the requested one. */
const targetComputers = Effect.fnUntraced(function* ({ computer, office }: flags.TargetComputerOptions) {
  const members = yield* (yield* Agent).members
  const names = members.filter(({ role }) => role === "computer").map(({ name }) => name)
  if (names.length === 0) return yield* failCommand(withoutComputer(office))
  if (computer === undefined) return names
  if (names.includes(computer)) return [computer]
  return yield* failCommand(`No Computer '${computer}' is in this office; there are ${formatSome(names)}`)
})

/** The only Computer of the office, or the requested one. */
export const onlyTargetComputer = Effect.fnUntraced(function* (options: flags.TargetComputerOptions) {
  const [computer, ...others] = yield* targetComputers(options)
  return computer === undefined || others.length > 0
    ? yield* failCommand("Several Computers are in this office: choose one by --computer")
    : computer
})

/** Requests of one command that are open at the same time: a Computer that hangs delays no other. */
const maxConcurrentQueries = 16

/** How long replies wait for those of the other Computers before they are printed. */
const earlyPrint = Duration.seconds(2)

type Query<A, E, R> = (computer: string, agent: Agent["Service"]) => Effect.Effect<A, E, R>

/**
 * Queries the Computers of the office, or the requested one. A Computer that fails is reported, and left out of the results;
 * the command fails when all of them do. `onEarly` gets the replies so far when others take long.
 */
export const queryComputers = Effect.fnUntraced(function* <A, E extends CommandError, R>(
  options: flags.QueryOptions,
  query: Query<A, E, R>,
  onEarly: (replies: ReadonlyArray<A>, missing: ReadonlyArray<string>) => Effect.Effect<void> = () => Effect.void
) {
  const agent = yield* Agent
  const names = yield* targetComputers(options)
  const replies = new Map<string, A>()
  const missing = new Set(names)
  const repliesNow = () => names.flatMap((name) => (replies.has(name) ? [replies.get(name) as A] : []))
  const failLate = () => failCommand(`no reply within ${options.timeout}s (--timeout)`)
  const ask = (name: string) =>
    query(name, agent).pipe(
      Effect.timeoutOrElse({ duration: Duration.seconds(options.timeout), orElse: failLate }),
      Effect.map((reply) => void replies.set(name, reply)),
      Effect.mapError((error) => ({ name, error })),
      Effect.ensuring(Effect.sync(() => missing.delete(name)))
    )
  const asking = yield* Effect.forkChild(Effect.partition(names, ask, { concurrency: maxConcurrentQueries }))
  yield* Effect.timeoutOption(Fiber.await(asking), earlyPrint)
  if (missing.size > 0 && replies.size > 0) yield* onEarly(repliesNow(), [...missing])
  const [, failures] = yield* Fiber.join(asking)
  const [first] = failures
  if (first !== undefined && names.length === 1) return yield* Effect.fail(first.error)
  const explained = failures.map(({ error, name }) => {
    const { message, ...details } = explainAgentError(error)
    return new CommandFailed({ ...details, message: `Computer '${name}': ${message}` })
  })
  const [failed] = explained
  if (failed !== undefined && replies.size === 0) {
    return yield* new CommandFailed({ ...failed, message: explained.map(({ message }) => message).join("\n") })
  }
  yield* Effect.forEach(explained, (one) => reportFailure(one, options.json), { discard: true })
  return repliesNow()
})

/**
 * Prints the items that Computers reply: as one JSON value at the end, or as text as soon as it is there. `format` gives an
 * empty text for items without content, and `none` is printed when none has any.
 */
export const printReplies = Effect.fnUntraced(function* <A extends object, E extends CommandError, R>(
  options: flags.QueryOptions & OutputOptions,
  query: Query<ReadonlyArray<A>, E, R>,
  format: (items: ReadonlyArray<A>) => string,
  none = ""
) {
  const printed = new Set<ReadonlyArray<A>>()
  let hasText = false
  const printNew = (replies: ReadonlyArray<ReadonlyArray<A>>) => {
    const text = format(replies.filter((reply) => !printed.has(reply)).flat())
    for (const reply of replies) printed.add(reply)
    if (text === "") return Effect.void
    hasText = true
    return printResult(options, undefined, text)
  }
  const replies = yield* queryComputers(options, query, (early, missing) =>
    Effect.andThen(
      options.json ? Effect.void : printNew(early),
      printProgress(`waiting for replies of ${formatSome(missing)}`)
    )
  )
  if (options.json) return yield* printJson(replies.flat())
  yield* printNew(replies)
  if (!hasText) yield* printResult(options, undefined, none)
})

/** Prints lists that Computers reply, a row for each item, and `none` without any. */
export const printList = <A extends object, E extends CommandError, R>(
  options: flags.QueryOptions & OutputOptions,
  query: Query<ReadonlyArray<A>, E, R>,
  rowOf: (item: A) => ReadonlyArray<string>,
  none: string
) => printReplies(options, query, (items) => formatColumns(items.map(rowOf)), none)
