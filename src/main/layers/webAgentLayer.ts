import { Layer } from "effect"
import * as HttpDocuments from "../../adapters/dpe/HttpDocumentReader.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import { Agent, type AgentOptions } from "../../application/agent/Agent.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"

/** An Agent in an office of a Server on Socket.IO, without Node; fetches documents over HTTP only. */
export const webAgentLayer = (
  options: AgentOptions & SocketIoClient.SocketIoClientOptions
): Layer.Layer<Agent, JoinFailed> =>
  Agent.layer(options).pipe(Layer.provide(SocketIoClient.layer(options)), Layer.provide(HttpDocuments.layer))
