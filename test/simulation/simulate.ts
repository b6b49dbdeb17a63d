import {
  Cause,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Logger,
  Random,
  References,
  Scope,
  Stream
} from "effect"
import { TestClock } from "effect/testing"
import type { Computer } from "../../src/application/computer/Computer.ts"
import type { ToolTask } from "../../src/application/agent/tasks/toolTasks.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import type { ApprovalAnswer } from "../../src/domain/approvals/Approval.ts"
import type { ApprovalView } from "../../src/domain/approvals/ApprovalView.ts"
import { operatorName } from "../../src/domain/approvals/Caller.ts"
import { asObject, asString, parseJsonOrThrow } from "../../src/domain/json.ts"
import type { CallStatus } from "../../src/domain/model/CallStatus.ts"
import { allGrants } from "../../src/domain/model/Identity.ts"
import { officeIdOf } from "../../src/domain/model/ids.ts"
import type { ToolResult } from "../../src/domain/model/ToolResult.ts"
import {
  type CallerProcess,
  type Counts,
  noCounts,
  type TrackedAnswer,
  type TrackedApproval,
  type TrackedRequest
} from "./History.ts"
import { always, nothingIsLeaked, onceQuiet, onceQuietAsking } from "./invariants.ts"
import { approvalsOf, isCallerOf, mayHaveDecided } from "./consent.ts"
import { type Action, operators, type Plan, type PlannedAnswer, type Step, type MemberRef } from "./plan.ts"
import {
  type Findings,
  lineOf,
  listTime,
  makeWorld,
  officeLine,
  officeName,
  type Sabotage,
  toolNameIn,
  type World
} from "./World.ts"
import { errorCodeOf } from "../../src/domain/tools/errorResults.ts"
import { firstText } from "../firstText.ts"

/** The outcome of a run. */
export interface Outcome {
  readonly seed: number
  /** Broken rules with their violations. */
  readonly broken: ReadonlyArray<{ readonly rule: string; readonly findings: Findings }>
  /** The events line by line: identical for the same plan, byte for byte. */
  readonly trace: ReadonlyArray<string>
  readonly counts: Counts
}

/** How long all requests may take to end, in milliseconds: twice the longest call or the slowest rejoin. */
const quietTime = 120_000

/** How long requests may fail after a fault of the network or a server, in milliseconds. */
const recoveryTime = 100_000

/** How long a request that is no call may take, in milliseconds. */
const queryTime = 36_000

/** The timeout of the call of a task in seconds, and how long its result may take in milliseconds: Agents await absent Computers. */
const taskTimeout = 60
const taskTime = 700_000

/** Announces that the caller answers questions, which the approvers of the plan do in its name. */
const answeredByOthers = () => Effect.never

/** Approvals and tasks of others for which a program asks at once. */
const maxGuesses = 4

/** The answer of a program to an approval of another one. */
const foreignAnswer: PlannedAnswer = { by: "agent", after: 0, action: "allow", scope: "once", lasts: undefined }

/** What a Computer replies to an answer that it does not accept, or its Server. */
const refusalCodes: ReadonlyArray<number> = [403, 404, 409]

/** With a higher latency in milliseconds, requests may fail. */
const fairDelay = 20

/** How much longer an operator may wait for a call than its timeout, in milliseconds. */
const operatorMargin = 12_000

/** How long a program waits for the place of another one: longer than Servers take to notice a lost connection. */
const successionTime = Duration.seconds(40)

/** How long all members may take to leave, in milliseconds. */
const closingTime = 60_000

/** Wraps a clock and counts its active timers. */
const counting = (clock: Clock.Clock) => {
  let sleeping = 0
  const own = Object.assign(Object.create(clock) as Clock.Clock, {
    sleep: (duration: Duration.Duration) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void sleeping++),
        () => clock.sleep(duration),
        () => Effect.sync(() => void sleeping--)
      )
  })
  return { clock: own, sleeping: () => sleeping }
}

/** Collects the errors that the code under test logs. */
const logging = (errors: Array<string>) =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ cause, logLevel, message }) => {
        if (logLevel === "Error" || logLevel === "Fatal") {
          errors.push(`${JSON.stringify(message)} ${Cause.pretty(cause)}`)
        }
      })
    ]),
    Layer.succeed(References.MinimumLogLevel, "Error")
  )

const formatStep = ({ wait, ...action }: Step): string => `${JSON.stringify(action)} after ${wait} ms`

/** Starts the action of a step without waiting for its end. */
const perform = (world: World, action: Action, number: number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agents, computers, history, machines, net, note, now } = world
    const { counts } = history

    /** Marks the open requests of a member, and the open approvals of a Computer, as disturbed. */
    const disturb = ({ name, program }: { readonly name: string; readonly program: string }) => {
      for (const one of history.requests.values()) {
        if (one.ends.length === 0 && (one.program === program || one.computer === name)) one.undisturbed = false
      }
      for (const one of history.approvals.values()) {
        if (one.closedAt === undefined && one.computer === name) one.undisturbed = false
      }
    }
    const disturbMember = (who: MemberRef) => {
      const party = partyOf(world, who)
      if (party !== undefined) disturb(party)
    }
    const disturbAll = () => {
      for (const one of history.requests.values()) if (one.ends.length === 0) one.undisturbed = false
      for (const one of history.approvals.values()) if (one.closedAt === undefined) one.undisturbed = false
    }
    const isIdle = (party: { readonly doing: Fiber.Fiber<void> | undefined }) => party.doing?.pollUnsafe() !== undefined

    /** True when no fault disturbs a request between these members now. */
    const isUndisturbed = (agent: World["agents"][number], computer: World["computers"][number]) =>
      isIdle(agent) &&
      isIdle(computer) &&
      computer.office === agent.office &&
      computer.process !== undefined &&
      world.isFair(agent.program) &&
      world.isFair(computer.program)

    /** A request that is no call. */
    const query = { maxDuration: queryTime, timeout: queryTime, takes: undefined, tool: undefined }

    /** Records the outcome of a request, which runs in the scope of a process or of the run. */
    const watch = (
      given: Omit<TrackedRequest, "call" | "cancelledAt" | "ends" | "progress" | "isGuess" | "sentAt"> & {
        readonly call?: string
        readonly isGuess?: boolean
      },
      make: (one: TrackedRequest) => Effect.Effect<string, { readonly message: string }>,
      scope?: Scope.Scope
    ) => {
      const one: TrackedRequest = {
        call: given.id,
        isGuess: false,
        ...given,
        sentAt: now(),
        cancelledAt: undefined,
        ends: [],
        progress: []
      }
      history.requests.set(one.id, one)
      const ended = (outcome: string) =>
        Effect.sync(() => {
          one.ends.push({ at: now(), outcome })
          if (outcome.startsWith("=")) counts.answered += 1
          else if (outcome === "cancelled") counts.cancelled += 1
          else counts.failed += 1
          note(`${one.id} of ${one.program} ends: ${outcome}`)
        })
      const watched = make(one).pipe(
        Effect.matchEffect({
          onSuccess: (outcome) => ended(`=${outcome}`),
          onFailure: ({ message }) => ended(`failed: ${message}`)
        }),
        Effect.onInterrupt(() => ended("cancelled"))
      )
      return Effect.map(scope === undefined ? Effect.forkScoped(watched) : Effect.forkIn(watched, scope), (fiber) => ({
        one,
        fiber
      }))
    }

    /** Records the progress of a call. */
    const recordProgress =
      ({ id, progress: received }: TrackedRequest) =>
      (status: CallStatus) =>
        Effect.sync(() => {
          if (status._tag !== "Progressing") return
          received.push({ at: now(), progress: status.progress })
          note(`${id} makes progress: ${status.progress}`)
        })

    /** The text of a result, which is a failure when the tool or the call failed. */
    const textOf = <E extends { readonly message: string }>(result: Effect.Effect<ToolResult, E>) =>
      result.pipe(
        Effect.filterOrFail(
          ({ isError }) => !isError,
          (failed) => ({ message: `${errorCodeOf(failed) ?? "error"}: ${firstText(failed)}` })
        ),
        Effect.map(firstText)
      )

    /** Cancels a request later, unless it has ended. */
    const cancelLater = (one: TrackedRequest, after: number | undefined, cancel: Effect.Effect<unknown>) =>
      after === undefined
        ? Effect.void
        : Effect.forkScoped(
            Effect.andThen(
              Effect.sleep(after),
              Effect.suspend(() => {
                if (one.ends.length > 0) return Effect.void
                one.cancelledAt = now()
                return cancel
              })
            )
          )

    /** The page of the Servers: that of any running node. */
    const page = () => itemOf([...world.nodes.values()], number)?.watch

    const asOperator = (subject: string) => ({
      identity: { subject, grants: allGrants, expiresAt: undefined },
      remoteAddress: "page"
    })

    const see = ({ program, visit }: CallerProcess, views: ReadonlyArray<ApprovalView>) => {
      for (const { id, previousArguments } of views) {
        counts.seen += 1
        const previous = asObject(previousArguments === undefined ? {} : parseJsonOrThrow(previousArguments))
        const previousCall = asString(previous["id"])
        history.seen.push({ id, program, visit, at: now(), previousCall })
        const after = previousCall === undefined ? "" : ` after that of ${previousCall}`
        note(`${program} sees the approval of ${history.approvals.get(id)?.call}${after}`)
      }
    }

    /**
     * Asks, as an Agent, for what waits in its office, and for tasks whose ids it does not know. Answers what waits under its
     * name and is not its own.
     */
    const probe = Effect.fnUntraced(function* (agent: World["agents"][number], time = 0) {
      const { name, office, process } = agent
      if (process === undefined || office === undefined) return
      const { program, scope, service, visit } = process
      for (const computer of computers.filter((one) => one.office === office)) {
        const open = [...history.approvals.values()].filter(
          (one) => one.closedAt === undefined && one.computer === computer.name && one.office === office
        )
        const tasks = history.tasks.filter(
          (one) =>
            one.agent === name && one.office === office && one.computer === computer.name && !one.holders.has(program)
        )
        const look = (options: { readonly approvalId?: string } = {}) =>
          service.getApprovals(computer.name, options).pipe(
            Effect.map((views) => see({ program, visit }, views)),
            Effect.ignore,
            Effect.forkIn(scope)
          )
        if (open.length > 0) yield* look()
        for (const { id } of open.filter((one) => one.agent === name).slice(-maxGuesses))
          yield* look({ approvalId: id })
        const foreign = open.findLast(
          (one) => one.agent === name && !isCallerOf(world, one.call, { program, visit }, now())
        )
        if (foreign !== undefined) yield* answer(foreign, foreignAnswer, `probe-${number}-${time}-${computer.name}`)
        for (const { call } of tasks.slice(-1)) {
          yield* watch(
            {
              program,
              visit,
              id: `guess-${number}-${time}-${call}`,
              agent: name,
              office,
              computer: computer.name,
              undisturbed: false,
              ...query,
              maxDuration: taskTime,
              isGuess: true
            },
            () => textOf(service.task(computer.name, call).result),
            scope
          )
        }
      }
    })

    /** Asks, as an operator, for the open approvals. */
    const probeAsOperator = Effect.gen(function* () {
      const subject = itemOf(operators, number) ?? operators[0]
      const source = page()
      if (source === undefined) return
      const open = [...history.approvals.values()].filter(({ closedAt }) => closedAt === undefined)
      for (const { computer, id, office } of open.slice(-maxGuesses)) {
        const address = { computer, line: officeLine(office), office: officeIdOf(office) }
        const looking = source.execute({ _tag: "GetApproval", ...address, id }, asOperator(subject))
        const seeing = Effect.map(looking, (view) =>
          see({ program: operatorName(subject), visit: 0 }, [view as ApprovalView])
        )
        yield* Effect.forkScoped(Effect.ignore(seeing))
      }
    })

    /** Answers in the name of an approver. */
    const answer = Effect.fnUntraced(function* (approval: TrackedApproval, planned: PlannedAnswer, id: string) {
      const { action: verb, by, lasts, scope } = planned
      const until = lasts === undefined ? {} : { until: now() + lasts }
      const party = computers.find((one) => one.name === approval.computer)
      const namesakes = agents.filter(
        (one) => one.name === approval.agent && one.process !== undefined && one.office === approval.office
      )
      const agent = itemOf(namesakes, number)
      const isOfOperator = approval.agent.startsWith("operator:")
      const isByOperator = by === "operator" || (by === "agent" && isOfOperator)
      // Where operators may not decide, it answers as the caller.
      const asOwnCaller = isByOperator && !approval.approvers.includes("page")
      const kind = isByOperator ? (asOwnCaller ? "agent" : "operator") : by
      const operator =
        by === "agent" ? approval.agent.replace("operator:", "") : (itemOf(operators, number) ?? operators[0])
      const name = {
        owner: `owner of ${id}`,
        program: `program of ${id}`,
        agent: isByOperator ? operatorName(operator) : `agent ${approval.agent}`,
        operator: operatorName(operator)
      }[kind]
      const caller = isByOperator
        ? { program: operatorName(operator), visit: 0 }
        : by === "agent"
          ? agent?.process
          : undefined
      const terms = approval.isQuestion ? { scope: "once" as const, content: { by: name } } : { scope, ...until }
      const given: ApprovalAnswer = verb === "deny" ? { action: verb } : { action: verb, ...terms }
      const tracked: TrackedAnswer = {
        at: now(),
        by: name,
        kind,
        caller: caller && { program: caller.program, visit: caller.visit },
        allows: verb === "allow",
        grantedUntil: given.action === "allow" && given.scope === "tool" ? (given.until ?? Infinity) : undefined,
        outcome: "unknown",
        settledAt: undefined
      }
      const settle = (outcome: TrackedAnswer["outcome"]) => {
        tracked.outcome = outcome
        tracked.settledAt = now()
        note(`${id} about ${approval.call} by ${name}: ${outcome}`)
      }
      /** With 404 a Server may also report that the Computer is gone, which may have decided before. */
      const settleRemotely = (outcome: TrackedAnswer["outcome"]) => {
        if (outcome !== 404 || tracked.at > (approval.closedAt ?? Infinity)) settle(outcome)
      }
      const record = () => {
        counts.answers += 1
        if (tracked.grantedUntil !== undefined) counts.grants += 1
        approval.answers.push(tracked)
        note(`${id} about ${approval.call} by ${name}: ${verb}${tracked.grantedUntil === undefined ? "" : " the tool"}`)
      }
      if (by === "program") {
        if (!world.approvers.isProgramApprover(approval.id)) return
        record()
        return world.approvers.answerByProgram(approval.id, { ...given, by: name })
      }
      if (isByOperator) {
        const source = page()
        if (source === undefined) return
        record()
        const { computer, office } = approval
        const address = { computer, line: officeLine(office), office: officeIdOf(office) }
        const { action: decided, ...terms } = given
        yield* Effect.forkScoped(
          Effect.match(
            source.execute(
              { _tag: "DecideApproval", ...address, id: approval.id, action: decided, ...terms },
              asOperator(operator)
            ),
            {
              onSuccess: () => settle("accepted"),
              onFailure: ({ code }) => {
                if (refusalCodes.includes(code)) settleRemotely(code)
              }
            }
          )
        )
        return
      }
      if (kind === "agent") {
        if (agent?.process === undefined || party === undefined || agent.office === undefined) return
        record()
        const deciding = agent.process.service.decideApproval(party.name, approval.id, given)
        yield* watch(
          {
            id,
            program: agent.program,
            visit: agent.process.visit,
            agent: agent.name,
            office: agent.office,
            computer: party.name,
            undisturbed: isUndisturbed(agent, party),
            ...query
          },
          () =>
            deciding.pipe(
              Effect.as("accepted" as const),
              Effect.catchTag("ProtocolError", (error) =>
                refusalCodes.includes(error.code) ? Effect.succeed(error.code) : Effect.fail(error)
              ),
              Effect.tap((outcome) => Effect.sync(() => settleRemotely(outcome))),
              Effect.map(String)
            )
        )
        return
      }
      if (party?.process === undefined) return
      record()
      yield* Effect.forkScoped(
        Effect.match(party.process.service.decideApproval(approval.id, given, name), {
          onSuccess: () => settle("accepted"),
          onFailure: ({ code }) => settle(code)
        })
      )
    })

    /** Answers an approval that is open then. */
    const answerLater = (answers: ReadonlyArray<PlannedAnswer>, find: () => TrackedApproval | undefined) =>
      Effect.forEach(
        answers.entries(),
        ([index, planned]) => {
          const answering = Effect.suspend(() => {
            const approval = find()
            return approval === undefined ? Effect.void : answer(approval, planned, `answer-${number}-${index}`)
          })
          return planned.after === 0
            ? answering
            : Effect.asVoid(Effect.forkScoped(Effect.andThen(Effect.sleep(planned.after), answering)))
        },
        { discard: true }
      )

    switch (action.do) {
      case "call":
      case "repeat":
      case "ask": {
        const { agent, computer } = pairOf(world, action)
        if (agent?.process === undefined || agent.office === undefined || computer === undefined) return
        const { office } = agent
        const { service } = agent.process
        const base = {
          program: agent.program,
          visit: agent.process.visit,
          agent: agent.name,
          office,
          computer: computer.name,
          undisturbed: isUndisturbed(agent, computer)
        }
        if (action.do === "ask") {
          counts.queries += 1
          const asking = (): Effect.Effect<unknown, { readonly message: string }> => {
            switch (action.what) {
              case "tools":
                return service.getTools(computer.name)
              case "desktop":
                return service.getDesktop(computer.name)
              case "documents":
                return service.findDocuments(computer.name)
              case "config":
                return service.getConfig(computer.name)
              case "members":
                return service.members
            }
          }
          yield* watch({ ...base, ...query, id: `ask-${number}` }, () => Effect.as(asking(), action.what))
          return
        }
        if (action.do === "repeat") {
          // A retrying peer sends the same req_id twice; each request has a separate outcome.
          for (const time of ["first", "second"]) {
            counts.calls += 1
            const id = `twice-${number}`
            const body = {
              agent: agent.name,
              req_id: `again-${number}`,
              computer: computer.name,
              tool_name: toolNameIn(office, action.tool),
              params: { id, from: office, takes: action.takes },
              timeout: 30
            }
            yield* watch({ ...base, ...query, id: `${id}-${time}` }, () =>
              Effect.as(
                service.member.request("client:tool_call", jsonBody(body), Duration.seconds(36)),
                "acknowledged"
              )
            )
          }
          return
        }
        counts.calls += 1
        const { seconds, takes, tool } = action
        const id = `call-${number}`
        const call = {
          computer: computer.name,
          tool: toolNameIn(office, tool),
          params: { id, from: office, takes },
          timeout: seconds,
          onInput: answeredByOthers
        }
        const { fiber, one } = yield* watch(
          { ...base, id, maxDuration: seconds * 1000, timeout: seconds * 1000, takes, tool },
          (tracked) => textOf(service.callTool({ ...call, onStatus: recordProgress(tracked) }))
        )
        yield* answerLater(action.answers, () => approvalsOf(world, id)[0])
        yield* cancelLater(one, action.cancelAfter, Fiber.interrupt(fiber))
        return
      }
      case "task": {
        const { agent, computer } = pairOf(world, action)
        if (agent?.process === undefined || agent.office === undefined || computer === undefined) return
        counts.tasks += 1
        const { name, office } = agent
        const { program, scope, service, visit } = agent.process
        const { takes, tool } = action
        const { visits } = computer
        const call = `task-${number}`
        const started = yield* Deferred.make<ToolTask>()
        const { one } = yield* watch(
          {
            program,
            visit,
            id: call,
            agent: name,
            office,
            computer: computer.name,
            undisturbed: isUndisturbed(agent, computer),
            maxDuration: taskTime,
            timeout: taskTimeout * 1000,
            takes,
            tool
          },
          (tracked) =>
            textOf(
              service
                .startTool({
                  computer: computer.name,
                  tool: toolNameIn(office, tool),
                  params: { id: call, from: office, takes },
                  timeout: taskTimeout,
                  onInput: answeredByOthers,
                  onStatus: recordProgress(tracked)
                })
                .pipe(
                  Effect.tap((task) => {
                    history.tasks.push({
                      id: task.id,
                      call,
                      agent: name,
                      office,
                      computer: computer.name,
                      visit: visits,
                      tool,
                      takes,
                      holders: new Set([program]),
                      shown: [{ program, visit, at: now() }]
                    })
                    return Deferred.succeed(started, task)
                  }),
                  Effect.flatMap(({ result }) => result)
                )
            ),
          scope
        )
        yield* answerLater(action.answers, () => approvalsOf(world, call)[0])
        const cancelling = Effect.flatMap(Deferred.await(started), (task) => Effect.ignore(task.cancel))
        yield* cancelLater(one, action.cancelAfter, Effect.forkIn(cancelling, scope))
        return
      }
      case "fetch": {
        const task = itemOf(history.tasks, action.task)
        const holders = agents.filter((one) => task?.holders.has(one.program) === true && one.process !== undefined)
        const agent = itemOf(holders, action.task)
        const computer = computers.find((one) => one.name === task?.computer)
        if (task === undefined || agent?.process === undefined || agent.office === undefined) return
        counts.fetches += 1
        const { program, scope, service, visit } = agent.process
        task.shown.push({ program, visit, at: now() })
        yield* watch(
          {
            program,
            visit,
            id: `fetch-${number}`,
            call: task.call,
            agent: agent.name,
            office: agent.office,
            computer: task.computer,
            undisturbed: computer !== undefined && isUndisturbed(agent, computer),
            maxDuration: taskTime,
            timeout: taskTimeout * 1000,
            takes: task.takes,
            tool: task.tool
          },
          (tracked) => textOf(service.task(task.computer, task.id, { onStatus: recordProgress(tracked) }).result),
          scope
        )
        return
      }
      case "operate": {
        // A grant of an Agent covers none of its calls.
        const granted = action.tool === "asking" ? undefined : latestGrant(world, "agent")
        const inOffices = computers.filter(({ name, office }) =>
          granted === undefined ? office !== undefined : name === granted.computer
        )
        const computer = itemOf(inOffices, action.computer)
        const source = page()
        if (computer?.office === undefined || source === undefined) return
        counts.calls += 1
        const { office } = computer
        const { seconds, takes } = action
        const tool = granted === undefined ? action.tool : "guarded"
        const subject = itemOf(operators, action.operator) ?? operators[0]
        const id = `operate-${number}`
        const request = {
          computer: computer.name,
          line: officeLine(office),
          office: officeIdOf(office),
          tool: toolNameIn(office, tool),
          params: { id, from: office, takes },
          timeout: seconds
        }
        const calling = Effect.flatMap(source.call(request, asOperator(subject)), (messages) =>
          Stream.runFold(
            messages,
            () => undefined as string | undefined,
            (_, message) => {
              if (message._tag === "Failed") return `failed: ${message.error.message}`
              return message._tag === "Result" ? "done" : undefined
            }
          )
        ).pipe(Effect.scoped)
        yield* watch(
          {
            program: operatorName(subject),
            visit: 0,
            id,
            agent: operatorName(subject),
            office,
            computer: computer.name,
            undisturbed: false,
            maxDuration: seconds * 1000 + operatorMargin,
            timeout: seconds * 1000,
            takes: undefined,
            tool
          },
          () => Effect.map(calling, (outcome) => outcome ?? "ended")
        )
        return yield* answerLater(action.answers, () => approvalsOf(world, id)[0])
      }
      case "succeed": {
        const granted = action.ofGrant ? latestGrant(world, "agent") : undefined
        const approval = granted ?? approvalFor(world, action.approval)
        const of = agents.find((one) => one.name === approval?.agent && one.office === approval.office)
        const before = of ?? agents[action.agent]
        const after = agents.find((one) => one.name === before?.name && one !== before)
        if (before?.office === undefined || before.process === undefined || after === undefined) return
        counts.successions += 1
        const { office } = before
        disturb(before)
        disturb(after)
        if (action.passesIds) {
          for (const task of history.tasks) if (task.holders.has(before.program)) task.holders.add(after.program)
        }
        yield* action.how === "leave" ? world.leave(before.who) : world.kill(before.who, action.how === "killSilently")
        yield* world.enter(after.who, office, { wait: successionTime })
        for (const [time, delay] of action.questionAfter.entries()) {
          yield* Effect.forkScoped(
            Effect.andThen(
              Effect.sleep(delay),
              Effect.suspend(() => probe(after, time))
            )
          )
        }
        return
      }
      case "probe": {
        const agent = agents[action.agent]
        if (agent !== undefined) yield* probe(agent)
        return yield* probeAsOperator
      }
      case "enter":
        disturbMember(action.who)
        return yield* world.enter(action.who, officeName(action.office), { takeOver: action.takeOver })
      case "leave":
        disturbMember(action.who)
        return yield* world.leave(action.who)
      case "kill":
        counts.kills += 1
        disturbMember(action.who)
        return yield* world.kill(action.who, action.silently)
      case "restart": {
        const granted = action.ofGrant ? latestGrant(world) : undefined
        const approval = granted ?? approvalFor(world, action.approval)
        const computer = computers.find(({ name }) => name === approval?.computer)
        if (computer?.office === undefined) return
        const { office, who } = computer
        counts.kills += 1
        disturb(computer)
        const machine = machines[who.index]
        if (machine !== undefined) machine.approvers = action.approvers
        yield* world.kill(who, action.silently)
        return yield* world.enter(who, office, {})
      }
      case "link": {
        const party = partyOf(world, action.who)
        if (party === undefined) return
        disturb(party)
        world.markUnfair(party.program, recoveryTime)
        if (yield* net.fault(lineOf(party), action.fault)) counts.linkFaults += 1
        return
      }
      case "slow": {
        const party = partyOf(world, action.who)
        if (party === undefined) return
        disturb(party)
        if (action.high > fairDelay) world.markUnfair(party.program, Number.POSITIVE_INFINITY)
        net.slow(lineOf(party), action)
        return
      }
      case "stopNode":
        // The witnesses are connected to node 0.
        if (action.node === 0 || !world.nodes.has(action.node)) return
        counts.nodeStops += 1
        disturbAll()
        for (const { program } of [...agents, ...computers]) world.markUnfair(program, recoveryTime)
        return yield* world.stopNode(action.node)
      case "startNode":
        return yield* world.startNode(action.node)
      case "answer": {
        const approval = approvalFor(world, action.approval)
        if (approval === undefined) return
        return yield* answerLater(action.answers, () => approval)
      }
      case "revoke": {
        const valid = new Map<string, Computer["Service"]>()
        for (const { process } of computers) {
          if (process === undefined) continue
          for (const { id } of yield* process.service.grants) valid.set(id, process.service)
        }
        const approval = [...history.approvals.values()].findLast(({ id }) => valid.has(id))
        const service = approval && valid.get(approval.id)
        if (service === undefined || approval === undefined) return
        history.revocations.set(approval.id, now())
        note(`the grant of ${approval.call} at ${approval.computer} is revoked`)
        yield* Effect.forkScoped(service.revokeGrant(approval.id))
        return
      }
      case "tools":
      case "windows":
      case "configure":
      case "crash":
      case "redefine": {
        const granted = action.do === "redefine" && action.ofGrant ? latestGrant(world) : undefined
        const computer = computers.find(({ name }) => name === granted?.computer) ?? computers[action.computer]
        const machine = machines[computer?.who.index ?? 0]
        if (machine === undefined || computer === undefined) return
        counts.changes += 1
        if (action.do === "tools") {
          machine.tools += 1
          return yield* machine.main.setTools(world.toolsOf(action.computer))
        }
        if (action.do === "redefine") {
          disturb(computer)
          world.markUnfair(computer.program, listTime)
          machine.redefinedAt.push(now())
          return yield* machine.main.setTools(world.toolsOf(computer.who.index))
        }
        if (action.do === "windows") {
          machine.windows += 1
          const windows = world.windowsOf(action.computer)
          yield* machine.main.setResources(windows)
          for (const { definition } of windows)
            yield* machine.main.notify({ _tag: "ResourceUpdated", uri: definition.uri })
          return
        }
        if (action.do === "crash") {
          disturb(computer)
          world.markUnfair(computer.program, recoveryTime)
          return yield* machine.main.crash("the server process exited")
        }
        machine.hasExtra = !machine.hasExtra
        const config = world.configOf(action.computer)
        if (computer.process !== undefined) {
          yield* Effect.forkScoped(computer.process.service.reconfigure({ config, variables: {} }))
        }
      }
    }
  })

/** One call in this number goes to any Computer, even of another office. */
const crossOfficeInterval = 8

/** The Computers of an office that receive calls which need consent: few, for several approvals and grants at each. */
const guardedCount = 2

/** The Computer for a number of a plan: mostly one of the Agent's office. */
const partnerOf = ({ computers }: World, office: string | undefined, number: number, maxMates = Infinity) => {
  const mates = computers.filter((party) => party.office === office).slice(0, maxMates)
  return number % crossOfficeInterval === 0 || mates.length === 0 ? itemOf(computers, number) : itemOf(mates, number)
}

/** The Agent and the Computer of a request. A call that needs consent comes from an Agent in an office. */
const pairOf = (world: World, action: Extract<Action, { readonly do: "call" | "repeat" | "task" | "ask" }>) => {
  const { agents, computers } = world
  if (action.do === "ask" || action.tool === "work") {
    const agent = agents[action.agent]
    return { agent, computer: partnerOf(world, agent?.office, action.computer) }
  }
  const granted = action.do === "call" && action.toGrant ? latestGrant(world) : undefined
  const callers = agents.filter(({ office }) =>
    granted === undefined ? office !== undefined : office === granted.office
  )
  const agent = itemOf(callers, action.agent)
  return {
    agent,
    computer:
      granted === undefined
        ? partnerOf(world, agent?.office, action.computer, guardedCount)
        : computers.find(({ name }) => name === granted.computer)
  }
}

const itemOf = <A>(items: ReadonlyArray<A>, number: number): A | undefined => items[number % items.length]

/** The latest approval whose answer granted the tool, even if the grant was revoked. */
const latestGrant = (world: World, by?: TrackedAnswer["kind"]): TrackedApproval | undefined =>
  [...world.history.approvals.values()].findLast((one) =>
    one.answers.some(
      (answer) =>
        answer.grantedUntil !== undefined &&
        (by === undefined || answer.kind === by) &&
        mayHaveDecided(world, one, answer)
    )
  )

/** One answer in this number goes to any approval, even one that has a decision. */
const lateAnswerInterval = 6

/** The approval for a number of a plan: mostly an open one. */
const approvalFor = ({ history }: World, number: number): TrackedApproval | undefined => {
  const all = [...history.approvals.values()]
  const open = all.filter(({ closedAt }) => closedAt === undefined)
  return itemOf(number % lateAnswerInterval === 0 || open.length === 0 ? all : open, number)
}

const partyOf = (world: World, { index, kind }: MemberRef) =>
  kind === "agent" ? world.agents[index] : world.computers[index]

/** Increment of the virtual time in milliseconds. */
const stride = 600_000

/** Runs a plan on virtual time and checks every rule. */
export const simulate = ({ members, seed, steps }: Plan, sabotage: Sabotage = {}): Effect.Effect<Outcome> =>
  Effect.gen(function* () {
    const trace: Array<string> = []
    const errors: Array<string> = []
    const broken: Array<{ readonly rule: string; readonly findings: Findings }> = []
    const find = (rule: string, findings: Findings) => {
      if (findings.length === 0) return
      broken.push({ rule, findings })
      for (const finding of findings) trace.push(`        ${rule}: ${finding}`)
    }
    const timers = counting(yield* Clock.Clock)

    const lives = Effect.gen(function* () {
      const world = yield* makeWorld(seed, members, sabotage, (line) => void trace.push(line), errors)
      const { counts } = world.history
      for (const [number, step] of steps.entries()) {
        yield* Effect.sleep(step.wait)
        world.note(`step ${number}: ${formatStep(step)}`)
        counts.steps += 1
        yield* perform(world, step, number)
        for (const rule of always) find(rule.name, rule(world))
        if (broken.length > 0) return counts
      }
      yield* world.net.heal
      for (let node = 0; node < members.nodes; node++) yield* world.startNode(node)
      yield* Effect.sleep(quietTime)
      world.note("all requests have ended")
      for (const rule of onceQuiet) find(rule.name, rule(world))
      for (const rule of onceQuietAsking) find(rule.name, yield* rule(world))
      yield* world.shut
      yield* Effect.sleep(closingTime)
      find(nothingIsLeaked.name, nothingIsLeaked(world))
      return counts
    })

    const scope = yield* Scope.make()
    // TestClock only waits for fibers that started on a tick, so the run starts with one.
    const running = yield* Effect.sleep(1).pipe(
      Effect.andThen(lives),
      Scope.provide(scope),
      Effect.provideService(Clock.Clock, timers.clock),
      Effect.provide(logging(errors)),
      Effect.forkChild
    )
    while (running.pollUnsafe() === undefined) yield* TestClock.adjust(stride)
    const counts = yield* Fiber.join(running)
    const closing = yield* Effect.forkChild(Effect.andThen(Effect.sleep(1), Scope.close(scope, Exit.void)))
    yield* TestClock.adjust(stride)
    if (closing.pollUnsafe() === undefined) find(nothingIsLeaked.name, ["the scope does not close"])
    else if (timers.sleeping() > 0) find(nothingIsLeaked.name, [`${timers.sleeping()} timers left`])
    yield* Fiber.interrupt(closing)
    return { seed, broken, trace, counts }
  }).pipe(
    Effect.scoped,
    Effect.provide(TestClock.layer({ warningDelay: "1 hour" })),
    Random.withSeed(`simulation ${seed}`)
  )

/** Adds up the counts of several runs. */
export const sum = (all: ReadonlyArray<Counts>): Counts =>
  all.reduce((total, counts) => {
    for (const key of Object.keys(total) as ReadonlyArray<keyof Counts>) total[key] += counts[key]
    return total
  }, noCounts())
