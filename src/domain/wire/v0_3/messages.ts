import { Schema, SchemaGetter } from "effect"
import { Tool } from "../../model/Tool.ts"
import { makeGetToolsRet } from "../v0_2/messages.ts"
import { wireStruct } from "../wireStruct.ts"

/** A tool with the bundle id of its MCP server, which this line requires. */
const SmcpTool = wireStruct({ ...Tool.fields, bundleId: Schema.String }).pipe(
  Schema.decodeTo(Schema.toType(Tool), {
    decode: SchemaGetter.passthroughSubtype(),
    encode: SchemaGetter.transform(({ bundleId = "", ...tool }: Tool) => ({ ...tool, bundleId }))
  })
)

export const GetToolsRet = makeGetToolsRet(SmcpTool)
