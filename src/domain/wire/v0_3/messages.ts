import { Schema, SchemaGetter } from "effect"
import { Tool } from "../../model/Tool.ts"
import { makeGetToolsRet, toolKeys } from "../v0_2/messages.ts"

const IdentifiedTool = Schema.Struct({ ...Tool.fields, bundleId: Schema.String })

/** A tool with the bundle id of its MCP server, which this line requires. */
const SmcpTool = IdentifiedTool.pipe(
  Schema.encodeKeys(toolKeys),
  Schema.decodeTo(Schema.toType(Tool), {
    decode: SchemaGetter.passthroughSubtype(),
    encode: SchemaGetter.transform(({ bundleId = "", ...tool }: Tool) => ({ ...tool, bundleId }))
  })
)

export const GetToolsRet = makeGetToolsRet(SmcpTool)
