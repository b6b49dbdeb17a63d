import { Duration, Effect, Exit, Fiber, HashMap, Option, Result } from "effect"
import type { MemoryCluster } from "../../src/adapters/memory/MemoryCluster.ts"
import { evolveOffices } from "../../src/adapters/memory/MemoryOfficeRegistry.ts"
import { operatorRequests } from "../../src/domain/page/operatorRequests.ts"
import { type Body, jsonBody } from "../../src/application/ports/Body.ts"
import {
  type Reply,
  type ReplyExit,
  type Link,
  LinkClosed,
  type MessageHandler,
  type TransportClient,
  type TransportServer
} from "../../src/application/ports/Transport.ts"
import { asObject, isJsonObject, type JsonObject } from "../../src/domain/json.ts"
import type { MembershipCommand } from "../../src/domain/office/decideMembership.ts"
import { officeIdOf } from "../../src/domain/model/ids.ts"
import { type MembershipError } from "../../src/domain/model/Membership.ts"
import type { Sabotage } from "./World.ts"

type Accept = Parameters<TransportServer["Service"]["serve"]>[0]

/** Wraps the Server's ends of all links and their message handlers. */
const atLinks = (
  change: (link: Link) => Link,
  wrapHandler: (receive: MessageHandler, link: Link) => MessageHandler = (receive) => receive
): Sabotage => ({
  transport: ({ serve }) => ({
    serve: (accept, onBacklogChange) => {
      const changed: Accept = (link, handshake) =>
        Effect.map(accept(change(link), handshake), (receive) => wrapHandler(receive, link))
      return serve(changed, onBacklogChange)
    }
  })
})

/** Replaces the messages of the Servers to their links. */
const atPosts = (post: (link: Link, ...message: Parameters<Link["post"]>) => ReturnType<Link["post"]>): Sabotage =>
  atLinks((link) => ({ ...link, post: (...message) => post(link, ...message) }))

/** Replaces the requests of the Servers to their links. */
const atRequests = (
  start: (link: Link, ...request: Parameters<Link["startRequest"]>) => ReturnType<Link["startRequest"]>
): Sabotage => atLinks((link) => ({ ...link, startRequest: (...request) => start(link, ...request) }))

/** The reply of a handler. */
type Answer = ReturnType<MessageHandler>

const valueOf = (body: Body) => asObject(Result.getOrUndefined(body.value()))

/** True for every `count`th matching message. */
const each = (count: number, name: (event: string) => boolean) => {
  let seen = 0
  return (event: string) => name(event) && ++seen % count === 0
}

const is = (wanted: string) => (event: string) => event === wanted

/** Drops every `count`th message of an event. */
const drop = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atPosts((link, event, body) => (hit(event) ? undefined : link.post(event, body)))
}

/** Sends every `count`th message of an event twice. */
const duplicate = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atPosts((link, event, body) => {
    if (hit(event)) link.post(event, body)
    return link.post(event, body)
  })
}

/** Changes every `count`th reply of a Computer to requests of an event. */
const changeReplies = (
  wanted: string,
  count: number,
  change: (requests: ReplyExit, end: (requests: ReplyExit) => void) => void
) => {
  const hit = each(count, is(wanted))
  return atRequests((link, event, body, deadline, end, extend) =>
    link.startRequest(event, body, deadline, hit(event) ? (requests) => change(requests, end) : end, extend)
  )
}

/** Swaps the replies of two calls. */
const swapReplies = (): Sabotage => {
  let held: { readonly requests: ReplyExit; readonly end: (requests: ReplyExit) => void } | undefined
  return changeReplies("client:tool_call", 1, (requests, end) => {
    if (held === undefined) {
      held = { requests, end }
      return
    }
    const other = held
    held = undefined
    other.end(requests)
    end(other.requests)
  })
}

/** Also sends a notification to a link of another member. */
const leakNotifications = (): Sabotage => {
  let latest: Link | undefined
  const hit = each(5, is("notify:update_tool_list"))
  return atLinks((link) => {
    const before = latest
    latest = link
    return {
      ...link,
      post: (event, body) => {
        if (hit(event)) before?.post(event, body)
        return link.post(event, body)
      }
    }
  })
}

/** Adds an invented member to member lists. */
const inventMember = (): Sabotage =>
  atLinks(
    (link) => link,
    (receive) => (event, body) =>
      Effect.map(receive(event, body), (answer): Reply => {
        const [first] = answer
        const value = first === undefined ? undefined : Result.getOrUndefined(first.value())
        if (event !== "server:list_room" || !isJsonObject(value) || !Array.isArray(value["sessions"])) {
          return answer
        }
        const [one] = value["sessions"] as ReadonlyArray<object>
        return [jsonBody({ ...value, sessions: [...value["sessions"], { ...one, name: "invented" }] })]
      })
  )

/** Makes a session a member without any check. */
const forceJoin = (cluster: MemoryCluster, command: MembershipCommand): void => {
  if (command._tag !== "Join") return
  const { name, office, role, sid } = command
  evolveOffices(cluster.offices, {
    _tag: "Entered",
    sid,
    membership: { name, office, role }
  })
}

/** Admits members that are rejected for this reason. */
const ignoringRejection = (wanted: MembershipError["reason"]): Sabotage => ({
  registry: (registry, cluster) => ({
    ...registry,
    apply: (command, capacity) =>
      registry.apply(command, capacity).pipe(
        Effect.catchIf(
          ({ reason }) => reason === wanted && command._tag === "Join",
          () => Effect.sync(() => forceJoin(cluster, command))
        )
      )
  })
})

/** Also finds Computers of other offices. */
const searchAllOffices = (): Sabotage => ({
  registry: (registry, cluster) => ({
    ...registry,
    findComputer: (office, name) =>
      Option.orElse(registry.findComputer(office, name), () =>
        Option.fromUndefinedOr(
          [...HashMap.values(cluster.offices.state.offices)]
            .flatMap(({ computers }) => [...HashMap.values(computers)])
            .find((member) => member.membership.name === name)
        )
      )
  })
})

/** Forgets the protocol line of offices. */
const mergeLines = (): Sabotage => ({
  registry: (registry) => ({
    ...registry,
    apply: (command, capacity) => registry.apply({ ...command, office: String(officeIdOf(command.office)) }, capacity),
    members: (office) => registry.members(String(officeIdOf(office))),
    findComputer: (office, name) => registry.findComputer(String(officeIdOf(office)), name)
  })
})

/** Doubles the timeouts of members. */
const doubleTimeouts = (): Sabotage => ({
  client: ({ connect }) => ({
    connect: (options) =>
      Effect.map(connect(options), (link) => ({
        ...link,
        request: (event, body, timeout, extend) => link.request(event, body, Duration.times(timeout, 2), extend)
      }))
  })
})

/** A fault that a code change could introduce. */
export interface Fault {
  /** The name of the rule that must detect the fault. */
  readonly by: string
  /** The first seed that is tried: one that detects the fault, unless the plans have changed since. 0 by default. */
  readonly from?: number
  /** Makes a new instance with separate state. */
  readonly plant: () => Sabotage
}

const callTwice = (): Sabotage => {
  const hit = each(7, is("client:tool_call"))
  return atRequests((link, event, body, deadline, end, extend) => {
    const value = Result.getOrUndefined(body.value())
    if (hit(event) && isJsonObject(value)) {
      // With the original id the Computer would treat it as a repeated request.
      const again = jsonBody({ ...value, req_id: `${String(value["req_id"])} again` })
      link.startRequest(event, again, deadline, () => undefined)
    }
    return link.startRequest(event, body, deadline, end, extend)
  })
}

/** Dies in every `count`th handling of an event. */
const throwInHandler = (wanted: string, count: number): Sabotage => {
  const hit = each(count, is(wanted))
  return atLinks(
    (link) => link,
    (receive) => (event, body) => (hit(event) ? Effect.die(new Error("a planted defect")) : receive(event, body))
  )
}

/** Keeps every fourth disconnect from the registry. */
const keepingMembers = (): Sabotage => {
  const hit = each(4, is("Disconnect"))
  return {
    registry: (registry) => ({
      ...registry,
      disconnect: (sid) => (hit("Disconnect") ? Effect.void : registry.disconnect(sid))
    })
  }
}

/** Accepts answers to approvals that have a decision. */
const acceptLateAnswers = (): Sabotage => ({
  computer: (computer) => ({
    ...computer,
    decideApproval: (id, answer, by = "owner") =>
      Effect.catchIf(
        computer.decideApproval(id, answer, by),
        ({ code }) => code === 409,
        () => Effect.succeed({ state: "allowed" as const, by, at: 0, scope: "once" as const })
      )
  })
})

/** Accepts every second answer and drops it. */
const dropAnswers = (): Sabotage => {
  const hit = each(2, is("answer"))
  return {
    computer: (computer) => ({
      ...computer,
      decideApproval: (id, answer, by = "owner") =>
        hit("answer")
          ? Effect.succeed({ state: "allowed" as const, by, at: 0, scope: "once" as const })
          : computer.decideApproval(id, answer, by)
    })
  }
}

/** Takes the denial of a program for a permission. */
const allowDenials = (): Sabotage => ({
  settings: ({ confirm = () => Effect.never, ...settings }) => ({
    ...settings,
    confirm: (approval) =>
      Effect.map(confirm(approval), (given) =>
        typeof given !== "boolean" && given.action === "deny" ? { ...given, action: "allow", scope: "once" } : given
      )
  })
})

/**
 * Replies to a Computer that its Server does not wait longer for calls with at least this timeout in seconds. The wait for
 * an approval is then a part of the execution time, and ends before the timeout of the call.
 */
const denyExtensions = (minSeconds: number): Sabotage => {
  const denied = new Set<unknown>()
  return atLinks(
    (link) => ({
      ...link,
      startRequest: (event, body, deadline, end, extend) => {
        const { req_id: id, timeout } = event === "client:tool_call" ? valueOf(body) : {}
        if (typeof timeout === "number" && timeout >= minSeconds) denied.add(id)
        return link.startRequest(event, body, deadline, end, extend)
      }
    }),
    (receive) => (event, body) =>
      event === "server:update_tool_call" && denied.has(valueOf(body)["req_id"])
        ? Effect.as(receive(event, body), [])
        : receive(event, body)
  )
}

/** Keeps the Servers from waiting longer for the replies of Computers. */
const ignoreExtensions = (): Sabotage =>
  atRequests((link, event, body, deadline, end) => link.startRequest(event, body, deadline, end))

/** Changes what Computers receive of the requests about tasks, by their method; also sends what `change` adds. */
const changeTasks = (method: string, count: number, change: (request: JsonObject, again: () => void) => JsonObject) => {
  const hit = each(count, is(method))
  return atRequests((link, event, body, deadline, end, extend) => {
    const request = event === "client:mcp" ? valueOf(body) : {}
    if (!hit(String(request["method"]))) return link.startRequest(event, body, deadline, end, extend)
    const again = () => void link.startRequest(event, body, deadline, () => undefined)
    return link.startRequest(event, jsonBody(change(request, again)), deadline, end, extend)
  })
}

const withTaskId = (request: JsonObject): JsonObject => ({
  ...request,
  params: { ...asObject(request["params"]), id: "another" }
})

/** Delivers the first status of a call after the second one. */
const reorderStatuses = (): Sabotage => {
  const held = new Map<unknown, Body>()
  const isProgress = (event: string, body: Body) =>
    event === "notify:update_tool_call" && valueOf(body)["status"] === "progress"
  return atPosts((link, event, body) => {
    if (!isProgress(event, body)) return link.post(event, body)
    const id = valueOf(body)["req_id"]
    const before = held.get(id)
    if (before === undefined) {
      held.set(id, body)
      return undefined
    }
    held.delete(id)
    link.post(event, body)
    return link.post(event, before)
  })
}

/** Reports progress of calls that have ended. */
const reportAfterEnd = (): Sabotage => ({
  agent: (agent) => ({
    ...agent,
    callTool: (call) =>
      Effect.tap(agent.callTool(call), () =>
        Effect.forkDetach(
          Effect.delay(
            call.onStatus?.({ _tag: "Progressing", computer: call.computer ?? "", progress: 3 }) ?? Effect.void,
            Duration.millis(1)
          )
        )
      )
  })
})

/** Wraps the handlers of Computers for requests of an event, with the members of the request. */
const atComputers = (wanted: string, change: (receive: MessageHandler, request: JsonObject, body: Body) => Answer) => ({
  client: ({ connect }: TransportClient["Service"]): TransportClient["Service"] => ({
    connect: (options) => {
      const { onMessage: receive } = options
      const onMessage: MessageHandler = (event, body) =>
        event === wanted ? change(receive, valueOf(body), body) : receive(event, body)
      return connect({ ...options, onMessage })
    }
  })
})

/** The members of the first body of a reply. */
const firstOf = ([first]: Reply): JsonObject => (first === undefined ? {} : valueOf(first))

/** What an operator sees of an approval: all of it, for every caller. */
const viewOf = (receive: MessageHandler, id: unknown) =>
  Effect.map(receive(operatorRequests.getApproval.event, jsonBody({ id })), firstOf)

/** Shows an approval to every Agent with the name of its caller. */
const showByName = (): Sabotage =>
  atComputers("client:get_approvals", (receive, { agent, approval_id: id, req_id }, body) =>
    Effect.gen(function* () {
      const reply = yield* receive("client:get_approvals", body)
      if (id === undefined || firstOf(reply)["approvals"]?.toString() !== "") return reply
      const view = yield* viewOf(receive, id)
      return view["requester"] === agent ? [jsonBody({ req_id, approvals: [view] })] : reply
    })
  )

/** Shows the arguments of the last approved call of a tool to every Agent that may see an approval. */
const showPreviousArguments = (): Sabotage =>
  atComputers("client:get_approvals", (receive, { approval_id: id }, body) =>
    Effect.gen(function* () {
      const reply = yield* receive("client:get_approvals", body)
      const { approvals, req_id } = firstOf(reply)
      if (id === undefined || !Array.isArray(approvals) || approvals.length === 0) return reply
      const { previous_arguments } = yield* viewOf(receive, id)
      return previous_arguments === undefined
        ? reply
        : [jsonBody({ req_id, approvals: [{ ...asObject(approvals[0]), previous_arguments }] })]
    })
  )

/** Lets Agents decide as operators do, about the approvals for which this holds. */
const decideAsOperator = (
  isWanted: (request: JsonObject, view: JsonObject, reply: JsonObject) => boolean,
  isReplaced: boolean
): Sabotage =>
  atComputers("client:decide_approval", (receive, request, body) =>
    Effect.gen(function* () {
      const { agent, approval_id: id, computer: _, req_id, ...answer } = request
      const reply = isReplaced ? [] : yield* receive("client:decide_approval", body)
      const view = yield* viewOf(receive, id)
      if (!isWanted(request, view, firstOf(reply))) {
        return isReplaced ? yield* receive("client:decide_approval", body) : reply
      }
      const decided = yield* receive(
        operatorRequests.decideApproval.event,
        jsonBody({ id, by: `agent ${String(agent)}`, ...answer })
      )
      const approval = firstOf(decided)
      return approval["id"] === undefined ? decided : [jsonBody({ req_id, approval })]
    })
  )

const isOfAgent = (event: string, body: Body) => event === "notify:leave_office" && valueOf(body)["agent"] !== undefined

/** Keeps from Computers that an Agent has left: its name stays the same caller. */
const keepMemberships = (): Sabotage =>
  atPosts((link, event, body) => (isOfAgent(event, body) ? undefined : link.post(event, body)))

/** Keeps from Computers that the calls of an Agent end with it. */
const keepCalls = (): Sabotage =>
  atPosts((link, event, body) =>
    isOfAgent(event, body) || event === "notify:tool_call_cancel" ? undefined : link.post(event, body)
  )

/** Takes an unknown id of a task for the latest one of its Agent. */
const findTaskByName = (): Sabotage => {
  const latest = new Map<string, unknown>()
  const known = new Set<unknown>()
  return atRequests((link, event, body, deadline, end, extend) => {
    const request = event === "client:mcp" ? valueOf(body) : {}
    const { agent, computer, method, params } = request
    const { id, ...others } = asObject(params)
    const key = `${String(agent)} ${String(computer)}`
    if (method === "tasks/start") {
      known.add(id)
      latest.set(key, id)
    }
    if (method !== "tasks/get" || known.has(id)) return link.startRequest(event, body, deadline, end, extend)
    const changed = jsonBody({ ...request, params: { ...others, id: latest.get(key) ?? id } })
    return link.startRequest(event, changed, deadline, end, extend)
  })
}

/** Cancels the tasks of an Agent that leaves. */
const endTasks = (): Sabotage => {
  const started = new Map<unknown, JsonObject>()
  return atLinks((link) => ({
    ...link,
    startRequest: (event, body, deadline, end, extend) => {
      const request = event === "client:mcp" ? valueOf(body) : {}
      if (request["method"] === "tasks/start") started.set(asObject(request["params"])["id"], request)
      return link.startRequest(event, body, deadline, end, extend)
    },
    post: (event, body) => {
      for (const [id, request] of isOfAgent(event, body) ? started : []) {
        if (request["agent"] !== valueOf(body)["agent"]) continue
        const cancel = { ...request, method: "tasks/cancel", params: { id } }
        link.startRequest("client:mcp", jsonBody(cancel), Duration.seconds(20), () => undefined)
      }
      return link.post(event, body)
    }
  }))
}

/** Takes all operators for one. */
const mergeOperators = (): Sabotage => ({
  client: ({ connect }) => ({
    connect: (options) => {
      const onMessage: MessageHandler = (event, body) => {
        const request = valueOf(body)
        const isByOperator = event.startsWith("client:") && String(request["agent"]).startsWith("operator:")
        return options.onMessage(event, isByOperator ? jsonBody({ ...request, agent: "operator:any" }) : body)
      }
      return connect({ ...options, onMessage })
    }
  })
})

/** Forgets which approver gave a grant. */
const forgetApprovers = (): Sabotage => ({
  store: ({ load, save }) => ({
    save,
    load: (computer) =>
      Effect.map(load(computer), (stored) => ({
        ...stored,
        grants: stored.grants.map((grant) => ({ ...grant, approver: "owner" as const }))
      }))
  })
})

/** All faults, by description. */
export const faults: { readonly [what: string]: Fault } = {
  "a reply is lost": {
    by: "undisturbedCallsSucceed",
    from: 10,
    plant: () => changeReplies("client:tool_call", 2, () => undefined)
  },
  "a reply about tools becomes a lost connection": {
    by: "undisturbedRequestsSucceed",
    from: 6,
    plant: () => changeReplies("client:get_tools", 2, (_, end) => end(Exit.fail(new LinkClosed({ reason: "planted" }))))
  },
  "a reply goes to another caller": { by: "resultsReachTheirCaller", from: 3, plant: swapReplies },
  "members wait too long for replies": { by: "everyRequestEndsOnce", from: 16, plant: doubleTimeouts },
  "a call is sent twice with two ids": { by: "nothingRunsTwice", plant: callTwice },
  "a call goes to another office": { by: "callsStayInTheirOffice", from: 27, plant: searchAllOffices },
  "a cancel is lost": { by: "cancelledCallsStop", from: 5, plant: () => drop("notify:tool_call_cancel", 1) },
  "a join is not notified": {
    by: "membershipChangesAreNotifiedOnce",
    plant: () => drop("notify:enter_office", 5)
  },
  "a join is notified twice": {
    by: "membershipChangesAreNotifiedOnce",
    plant: () => duplicate("notify:enter_office", 5)
  },
  "a leave is not notified": {
    by: "membershipChangesAreNotifiedOnce",
    from: 2,
    plant: () => drop("notify:leave_office", 5)
  },
  "a leave is notified twice": {
    by: "membershipChangesAreNotifiedOnce",
    from: 2,
    plant: () => duplicate("notify:leave_office", 5)
  },
  "a change of tools is not notified": {
    by: "viewsAreTrue",
    from: 11,
    plant: () => drop("notify:update_tool_list", 2)
  },
  "a change of windows is not notified": {
    by: "viewsAreTrue",
    from: 25,
    plant: () => drop("notify:update_desktop", 2)
  },
  "a notification crosses offices": { by: "nothingCrossesOffices", plant: leakNotifications },
  "a list invents a member": { by: "listsAreTrue", plant: inventMember },
  "a tool does not stop": {
    by: "cancelledCallsStop",
    plant: () => ({ tool: (work) => Effect.uninterruptible(work) })
  },
  "a tool outlives its call": {
    by: "noToolRunsOn",
    from: 8,
    plant: () => ({ tool: (work) => Effect.flatMap(Effect.forkDetach(work), Fiber.join) })
  },
  "an office takes a second Agent": {
    by: "oneAgentPerOffice",
    plant: () => ignoringRejection("agent_exists")
  },
  "an office takes a name twice": { by: "namesAreUnique", from: 2, plant: () => ignoringRejection("name_taken") },
  "offices of all lines are one": { by: "linesNeverMeet", plant: mergeLines },
  "a closed connection stays a member": { by: "membershipConverges", plant: keepingMembers },
  "a closed connection is never removed": { by: "nothingIsLeaked", plant: keepingMembers },
  "a second answer is accepted": { by: "approvalsAreDecidedOnce", plant: acceptLateAnswers },
  "an accepted answer is dropped": { by: "approvalsAreDecidedOnce", from: 1, plant: dropAnswers },
  "a tool runs without a question": {
    by: "consentPrecedesRuns",
    plant: () => ({ settings: (settings) => ({ ...settings, approve: ["guarded"] }) })
  },
  "a grant is not revoked": {
    by: "consentPrecedesRuns",
    from: 11,
    plant: () => ({ computer: (computer) => ({ ...computer, revokeGrant: () => Effect.succeed(true) }) })
  },
  "a denial allows a call": { by: "deniedCallsNeverRun", from: 3, plant: allowDenials },
  "an approval expires too late": {
    by: "deniedCallsNeverRun",
    from: 2,
    plant: () => ({
      settings: (settings) => ({ ...settings, approvalTimeout: Duration.times(settings.approvalTimeout, 2) })
    })
  },
  "an approval outlives its call": {
    by: "deniedCallsNeverRun",
    plant: () => drop("notify:tool_call_cancel", 1)
  },
  "a wait is not acknowledged": { by: "approvalsWaitInFull", from: 2, plant: () => denyExtensions(0) },
  "a wait is not notified": { by: "approvalsWaitInFull", from: 2, plant: () => drop("notify:update_tool_call", 1) },
  // Their approvals end before their timeout, and the wait itself is not shortened.
  "a wait is execution time of long calls": { by: "allowedCallsSucceed", from: 32, plant: () => denyExtensions(10) },
  "the Servers do not wait longer": { by: "approvalsWaitInFull", from: 2, plant: ignoreExtensions },
  "a grant is not stored": {
    by: "grantsAreKept",
    from: 27,
    plant: () => ({ store: ({ load }) => ({ load, save: () => Effect.void }) })
  },
  "an accepted answer does not reach its MCP server": {
    by: "answersReachTheirServer",
    from: 20,
    plant: dropAnswers
  },
  "progress is reordered": { by: "progressPrecedesEnds", from: 2, plant: reorderStatuses },
  "progress follows the result": { by: "progressPrecedesEnds", plant: reportAfterEnd },
  "a task is started twice with two ids": {
    by: "nothingRunsTwice",
    from: 9,
    plant: () =>
      changeTasks("tasks/start", 3, (request, again) => {
        again()
        return withTaskId(request)
      })
  },
  "a Computer forgets a task": {
    by: "tasksAreKept",
    from: 1,
    plant: () => changeTasks("tasks/get", 4, withTaskId)
  },
  "an approval is shown by the name of its Agent": { by: "approvalsReachTheirCallers", from: 1, plant: showByName },
  "a name that leaves and returns stays one caller": {
    by: "approvalsReachTheirCallers",
    from: 1,
    plant: keepMemberships
  },
  "all operators are one caller": { by: "approvalsReachTheirCallers", from: 6, plant: mergeOperators },
  "the arguments of another caller are shown": {
    by: "previousArgumentsReachTheirCaller",
    from: 3,
    plant: showPreviousArguments
  },
  "an answer is accepted by the name of its Agent": {
    by: "onlyApproversDecide",
    from: 1,
    plant: () =>
      decideAsOperator(
        ({ agent }, { requester }, reply) =>
          agent === requester && (reply["code"] ?? asObject(reply["error"])["code"]) === 404,
        false
      )
  },
  "an Agent decides without permission": {
    by: "onlyApproversDecide",
    from: 9,
    plant: () => ({
      settings: (settings) => ({ ...settings, approvers: ["agent", ...settings.approvers] })
    })
  },
  "a task is found without its id": { by: "tasksNeedTheirId", from: 1, plant: findTaskByName },
  "a call waits on without its Agent": { by: "departedCallsEnd", from: 1, plant: keepCalls },
  "a task ends with its Agent": { by: "tasksOutliveTheirAgents", from: 1, plant: endTasks },
  "a grant of an Agent covers all callers": {
    by: "consentPrecedesRuns",
    from: 68,
    plant: () => decideAsOperator(({ action, scope }) => action === "allow" && scope === "tool", true)
  },
  "a grant of an Agent outlives its membership": { by: "consentPrecedesRuns", from: 20, plant: keepMemberships },
  "a grant of an operator outlives its permission": { by: "consentPrecedesRuns", from: 4, plant: forgetApprovers },
  "a handler throws": { by: "noErrorIsLogged", from: 8, plant: () => throwInHandler("server:update_desktop", 3) }
}
