import { Schema } from "effect"
import { Tool } from "../../model/Tool.ts"

/** `SMCPTool` (seed 000). */
export const SmcpTool = Tool.pipe(Schema.encodeKeys({ paramsSchema: "params_schema", returnSchema: "return_schema" }))
