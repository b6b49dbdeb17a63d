import { type Layer, Schema, SchemaAST } from "effect"
import { Agent } from "../../application/agent/Agent.ts"
import type { BlobOptions } from "../../application/agent/blobs.ts"
import type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
import { type MethodName, methodNamed, methodNames } from "../../domain/wire/calls.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import {
  type ArgumentCheck,
  checkArguments,
  type ChecksOf,
  type Kind,
  type LastChecksOf,
  withCheckedArguments
} from "./checkArguments.ts"
import {
  type AgentConnectOptions,
  type AgentToolCall,
  type ConnectedAgent,
  type ConnectionOptions,
  type NodeAgentConnectOptions,
  wrapAgent
} from "./ConnectedAgent.ts"
import { type Cancellable, startService } from "./RunningService.ts"

/** The required arguments of methods. */
const computerFirst: ReadonlyArray<ArgumentCheck> = ["string"]
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
const toolCall: ChecksOf<AgentToolCall> = { ...startedCall, blobs: "blobs" }

/** The answer of an approval. */
export const approvalAnswer = {
  action: ["string"],
  by: "string",
  content: "object",
  reason: "string",
  scope: "string",
  until: "millis"
} as const
/** The kind of a field in the table of requests. */
const kindOfField = (name: string, field: Schema.Constraint): Kind => {
  const { type, ...schema } = Schema.toJsonSchemaDocument(Schema.toType(field)).schema
  if (name === "timeout") return "seconds"
  if (type === "string") return "string"
  if (type === "integer") return Number(schema["minimum"]) >= 1 ? "positive" : "count"
  if (type === "number") return "millis"
  return type === "array" ? "strings" : "object"
}

/** The checks of a method in the table of requests: of its arguments, the last of which may be an object, and of its options. */
const checksOfMethod = (name: MethodName) => {
  const { fields, toFields } = methodNamed(name)
  const named = Object.keys(toFields())
  const members = Object.entries(fields).filter(([field]) => !named.includes(field))
  const required = named.map((field): ArgumentCheck => {
    const schema = fields[field]
    return schema === undefined ? "string" : kindOfField(field, schema)
  })
  if (toFields.length === named.length)
    return {
      required,
      options: Object.fromEntries(members.map(([field, schema]) => [field, kindOfField(field, schema)]))
    }
  const object = members.map(([field, schema]) => {
    const kind = kindOfField(field, schema)
    return [field, SchemaAST.isOptional(Schema.toType(schema).ast) ? kind : ([kind] as const)] as const
  })
  return { required: [...required, Object.fromEntries(object)], options: {} }
}

const requestChecks = methodNames.map((name) => ({ name, ...checksOfMethod(name) }))

const requiredArguments: { readonly [_ in keyof ConnectedAgent]?: ReadonlyArray<ArgumentCheck> } = {
  callTool: [toolCall],
  startTool: [startedCall],
  startedTool: ["string", "string"],
  getTools: computerFirst,
  mcpServers: computerFirst,
  mcpRequest: [
    "string",
    {
      server: ["string"],
      method: ["string"],
      params: ["object"],
      timeout: "seconds"
    } satisfies ChecksOf<McpServerRequest>
  ],
  fetchDocument: ["string", "string"],
  allResources: ["string", "string"],
  blob: ["string", "string"],
  putBlob: ["string", "data"],
  readSkill: ["string", "string"],
  changesOf: computerFirst,
  mcpClient: []
}

const byteLimits: ChecksOf<BlobOptions> = { maxBytes: "limit", timeout: "seconds" }

type Methods = Omit<ConnectedAgent, typeof Symbol.asyncDispose | MethodName>

const lastOptions = {
  blob: byteLimits,
  fetchDocument: byteLimits,
  mcpClient: {
    maxResult: "limit",
    maxToolNameLength: "positive",
    pinned: "strings",
    timeout: "seconds",
    tools: "toolList"
  },
  putBlob: { nameHint: "string" },
  readSkill: { ...byteLimits, relPath: "string" }
} satisfies { readonly [Method in keyof Methods]?: LastChecksOf<Methods[Method]> }

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
  const service = await startService(Agent, makeLayer(options), options.log, cancellable)
  return withCheckedArguments(wrapAgent(service, options.office), {
    required: {
      ...Object.fromEntries(requestChecks.map(({ name, required }) => [name, required])),
      ...requiredArguments
    },
    options: {
      ...Object.fromEntries(
        requestChecks.flatMap(({ name, options: checks }) => (Object.keys(checks).length === 0 ? [] : [[name, checks]]))
      ),
      ...lastOptions
    },
    throwing: ["changesOf", "startedTool"]
  })
}
