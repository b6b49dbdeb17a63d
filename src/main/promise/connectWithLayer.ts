import { Effect, type Layer, Schema, SchemaAST, Struct } from "effect"
import { makeMcpClient } from "../../adapters/llm/McpClientLike.ts"
import { Agent, type AgentShape, type ToolCall } from "../../application/agent/Agent.ts"
import type { ToolTask } from "../../application/agent/tasks/toolTasks.ts"
import { makeOfficeModelSession } from "../../application/bridge/officeModelSession.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import { definedOnly } from "../../domain/objects.ts"
import { type MethodName, methodNamed, methodNames } from "../../domain/wire/calls.ts"
import { checkArguments, type ChecksOf, type Kind } from "./checkArguments.ts"
import type { Awaitable, HookOptions } from "./computer/computerHooks.ts"
import {
  type AgentConnectOptions,
  agentMemberRows,
  type AgentToolCall,
  byteLimits,
  type ConnectedAgent,
  type ConnectionOptions,
  type NodeAgentConnectOptions,
  type StartedTool
} from "./ConnectedAgent.ts"
import { type AnyMethodRow, makeMethods, type MethodRows } from "./promisedMethods.ts"
import { type Cancellable, type Closeable, type RunningService, startService } from "./RunningService.ts"

const startedCall: ChecksOf<Omit<AgentToolCall, "blobs">> = {
  computer: "string",
  onApproval: "function",
  onInput: "function",
  inputModes: "strings",
  onStatus: "function",
  params: "object",
  timeout: "seconds",
  tool: ["string"]
}

export const approvalAnswer = {
  action: ["string"],
  by: "string",
  content: "object",
  reason: "string",
  scope: "string",
  until: "millis"
} as const

/** Tells the kinds of fields apart, by the first value that a field permits; other fields are strings. */
const sampleValues = { millis: 0.5, count: 0, positive: 1, strings: [], object: {} }

/** The kind of a field in the table of requests. */
const kindOfField = (name: string, field: Schema.Constraint): Kind => {
  const isValid = Schema.is(Schema.toType(field))
  if (name === "timeout") return "seconds"
  return Struct.keys(sampleValues).find((kind) => isValid(sampleValues[kind])) ?? "string"
}

/** The row of a method in the table of requests. Its last argument before the options may be an object. */
const requestRow = (name: MethodName): AnyMethodRow<AgentShape> => {
  const { fields, toFields, toResult } = methodNamed(name)
  const named = Object.keys(toFields())
  const takesObject = toFields.length > named.length
  const required = named.map((field) => (fields[field] === undefined ? "string" : kindOfField(field, fields[field])))
  const members = Object.entries(fields).flatMap(([field, schema]) => {
    const kind = kindOfField(field, schema)
    const isOptional = !takesObject || SchemaAST.isOptional(Schema.toType(schema).ast)
    return named.includes(field) ? [] : [[field, isOptional ? kind : ([kind] as const)] as const]
  })
  const checks = Object.fromEntries(members)
  return {
    required: takesObject ? [...required, checks] : required,
    ...(!takesObject && members.length > 0 && { options: checks }),
    call: ({ request }, ...args) =>
      Effect.map(request(name, { ...toFields(...args), ...Object(args[toFields.length]) }), toResult)
  }
}

const promiseHook =
  <I, A>(hook: (input: I, options: HookOptions) => Awaitable<A>) =>
  (input: I) =>
    Effect.tryPromise(async (signal) => hook(input, { signal }))

const toCoreCall = ({ onApproval, onInput, onStatus, ...call }: AgentToolCall): ToolCall => ({
  ...call,
  ...definedOnly({
    onStatus: onStatus && ((status: CallStatus) => Effect.sync(() => onStatus(status))),
    onInput: onInput && promiseHook(onInput),
    onApproval: onApproval && promiseHook(onApproval)
  })
})

type Run = RunningService<AgentShape>["run"]

const makeHandle = (run: Run, computer: string, id: string, taskOf: (agent: AgentShape) => ToolTask): StartedTool => ({
  id,
  computer,
  status: (options) => run((agent) => taskOf(agent).status, options),
  result: (options) => run((agent) => taskOf(agent).result, options),
  cancel: (options) => run((agent) => taskOf(agent).cancel, options)
})

type OwnMethods = Omit<ConnectedAgent, keyof Closeable | MethodName | "startedTool">

/** The methods that are no rows in the table of requests. */
const methodRows = (run: Run, office: string): MethodRows<AgentShape, OwnMethods> => ({
  ...agentMemberRows,
  callTool: {
    required: [{ ...startedCall, blobs: "blobs" }],
    call: ({ callTool }, call) => callTool(toCoreCall(call))
  },
  mcpClient: {
    options: {
      maxResult: "limit",
      maxToolNameLength: "positive",
      pinned: "strings",
      timeout: "seconds",
      tools: "toolList"
    },
    call: (agent, options) => {
      const making = Effect.provideService(makeOfficeModelSession({ ...options, office }), Agent, agent)
      return Effect.flatMap(making, ({ session }) => makeMcpClient(session))
    }
  },
  readSkill: {
    required: ["string", "string"],
    options: { ...byteLimits, relPath: "string" },
    call: ({ readSkill }, computer, name, { relPath, ...limits }) => readSkill(computer, name, relPath, limits)
  },
  startTool: {
    required: [startedCall],
    call: ({ startTool }, call) =>
      Effect.map(startTool(toCoreCall(call)), (task) => makeHandle(run, task.computer, task.id, () => task))
  }
})

/** The options of every member. */
export const connectionChecks: ChecksOf<ConnectionOptions> = {
  auth: { "*": "json" },
  ca: "string",
  connectTimeout: "limit",
  headers: "headers",
  log: "function",
  namespace: "namespace",
  token: "token",
  transports: "transports",
  url: ["serverUrl"],
  wait: "millis"
}

const agentOptions: ChecksOf<NodeAgentConnectOptions> = {
  ...connectionChecks,
  documentFolders: "strings",
  documentHosts: "strings",
  name: ["identifier"],
  office: ["identifier"],
  protocol: "protocol",
  retryInitialConnect: "boolean",
  takeOver: "boolean"
}

/** Starts an Agent of a layer, whose options and arguments are checked. */
export const connectWithLayer = async <Options extends AgentConnectOptions>(
  makeLayer: (options: Options) => Layer.Layer<Agent, JoinFailed>,
  options: Options,
  cancellable: Cancellable | undefined
): Promise<ConnectedAgent> => {
  checkArguments("connectAgent", [agentOptions], [options])
  const { iterate, run, ...closeable } = await startService(Agent, makeLayer(options), options.log, cancellable)
  const requestRows = Object.fromEntries(methodNames.map((name) => [name, requestRow(name)]))
  const rows = { ...requestRows, ...methodRows(run, options.office) } as MethodRows<
    AgentShape,
    OwnMethods & Pick<ConnectedAgent, MethodName>
  >
  return {
    ...makeMethods({ iterate, run }, rows),
    startedTool: (computer, id) => {
      checkArguments("startedTool", ["string", "string"], [computer, id])
      return makeHandle(run, computer, id, ({ task }) => task(computer, id))
    },
    ...closeable
  }
}
