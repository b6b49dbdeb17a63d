import { Schema, SchemaGetter } from "effect"
import { type ComputerConfig, encodeReportedConfig } from "../../config/computerConfig.ts"
import { type Codec, makeListCodec } from "../../validation.ts"
import { computerConfigCodec as earlierCodec, mapOptions } from "../v0_2/computerConfig.ts"
import { Tool } from "../../model/Tool.ts"
import { makeGetToolsRet, repairWireTool } from "../v0_2/messages.ts"
import { wireStruct } from "../../model/wireStruct.ts"
import { smallInlineBytes } from "../../blobs/binaryContent.ts"
import { bundleNaming } from "../../tools/naming.ts"
import { extendLine } from "../ProtocolLine.ts"
import { encodeFlatError } from "../v0_2/acks.ts"
import { line as v0_2 } from "../v0_2/line.ts"

/** The reply to `client:get_config`: servers go by their bundle ids, and only the first one of equal ids is sent. */
const computerConfigCodec: Codec<ComputerConfig> = {
  schema: earlierCodec.schema,
  decode: earlierCodec.decode,
  encode: (config) => {
    const { inputs, servers } = encodeReportedConfig(config)
    const byId = Map.groupBy(Object.values(servers), (server) => server.bundle_id)
    return {
      // Newer peers of this line require labels.
      inputs: mapOptions(inputs, (option) => (typeof option === "string" ? { label: option, value: option } : option)),
      servers: Object.fromEntries([...byId].map(([id, [first]]) => [id, first]))
    }
  }
}

/** A tool with the bundle id of its MCP server, which this line requires. */
const SmcpTool = wireStruct({ ...Tool.fields, bundleId: Schema.String }).pipe(
  Schema.decodeTo(Schema.toType(Tool), {
    decode: SchemaGetter.passthroughSubtype(),
    encode: SchemaGetter.transform(({ bundleId = "", ...tool }: Tool) => ({ ...tool, bundleId }))
  })
)

const GetToolsRet = makeGetToolsRet(SmcpTool)

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
