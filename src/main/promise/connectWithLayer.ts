import type { Layer } from "effect"
import { Agent } from "../../application/agent/Agent.ts"
import type { BlobOptions } from "../../application/agent/blobs.ts"
import type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import {
  type ArgumentCheck,
  checkArguments,
  type ChecksOf,
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
  getConfig: computerFirst,
  getDesktop: computerFirst,
  getDpe: ["string", "string"],
  fetchDocument: ["string", "string"],
  getResources: ["string", "string"],
  allResources: ["string", "string"],
  findDocuments: computerFirst,
  getApprovals: computerFirst,
  decideApproval: ["string", "string", approvalAnswer],
  blob: ["string", "string"],
  putBlob: ["string", "data"],
  skills: computerFirst,
  readSkill: ["string", "string"],
  changesOf: computerFirst,
  mcpClient: []
}

const byteLimits: ChecksOf<BlobOptions> = { maxBytes: "limit", timeout: "seconds" }

type Methods = Omit<ConnectedAgent, typeof Symbol.asyncDispose>

const lastOptions = {
  blob: byteLimits,
  fetchDocument: byteLimits,
  findDocuments: { fileType: "string", keywords: "strings", limit: "positive", offset: "count" },
  getApprovals: { approvalId: "string" },
  getDesktop: { size: "count", window: "string" },
  getDpe: { timeout: "seconds" },
  getResources: { cursor: "string" },
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
    required: requiredArguments,
    options: lastOptions,
    throwing: ["changesOf", "startedTool"]
  })
}
