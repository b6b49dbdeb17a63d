import { smallInlineBytes } from "../../blobs/binaryContent.ts"
import { bundleNaming } from "../../tools/naming.ts"
import { makeListCodec } from "../../validation.ts"
import { extendLine } from "../makeLine.ts"
import { encodeFlatError } from "../v0_2/acks.ts"
import { line as v0_2 } from "../v0_2/line.ts"
import { repairWireTool } from "../v0_2/messages.ts"
import { computerConfigCodec } from "./computerConfig.ts"
import { GetToolsRet } from "./messages.ts"

const { calls } = v0_2

/** The protocol 0.3: MCP servers go by bundle ids, and a member states its role in the join alone. */
export const line = extendLine(v0_2, {
  name: "0.3",
  version: { major: 0, minor: 3, patch: 1 },
  calls: {
    ...calls,
    getTools: { ...calls.getTools, reply: makeListCodec(GetToolsRet, "tools", repairWireTool) },
    getConfig: { ...calls.getConfig, reply: computerConfigCodec }
  },
  naming: bundleNaming,
  hasRoleInHandshake: false,
  inlineBytes: smallInlineBytes,
  encodeProtocolError: encodeFlatError
})
