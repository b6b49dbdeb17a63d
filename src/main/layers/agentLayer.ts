import { Layer } from "effect"
import * as FileDocuments from "../../adapters/dpe/FileDocumentReader.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import { Agent, type AgentOptions } from "../../application/agent/Agent.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"

/** An Agent in an office of a Server on Socket.IO. */
export const agentLayer = (
  options: AgentOptions &
    SocketIoClient.SocketIoClientOptions & {
      /** Folders that `fetchDocument` may read; none by default, since Computers choose the file names. */
      readonly documentFolders?: ReadonlyArray<string>
    }
): Layer.Layer<Agent, JoinFailed> =>
  Agent.layer(options).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(FileDocuments.layer(options.documentFolders ?? []))
  )
