import { Layer } from "effect"
import * as NodeDocuments from "../../adapters/dpe/NodeDocumentReader.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import { Agent, type AgentOptions } from "../../application/agent/Agent.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"

/** The documents that an Agent may fetch. */
export interface DocumentAccess {
  /** Folders that `fetchDocument` may read; none by default, since Computers choose the file names. */
  readonly documentFolders?: ReadonlyArray<string>
  /**
   * Hosts from which `fetchDocument` may fetch although their addresses are private, such as `192.168.1.5` or
   * `*.corp.example`. Others must be public or in the network of the Server.
   */
  readonly documentHosts?: ReadonlyArray<string>
}

/** An Agent in an office of a Server on Socket.IO. */
export const agentLayer = (
  options: AgentOptions & SocketIoClient.SocketIoClientOptions & DocumentAccess
): Layer.Layer<Agent, JoinFailed> => {
  const { documentFolders: folders, documentHosts: hosts, url: serverUrl } = options
  return Agent.layer(options).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(NodeDocuments.layer({ serverUrl, folders, hosts }))
  )
}
