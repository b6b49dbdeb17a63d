/** What `a2c-smcp/tools` and `a2c-smcp/computer` export for authors of tools. */
export {
  type ParamsOf,
  type ToolAnnotations,
  type ToolContext,
  type ToolParams,
  type ToolQuestion
} from "../../../adapters/packs/author/BaseMcpTool.ts"
export { type DefinedTool, defineTool, type ToolDefinition } from "../../../adapters/packs/author/defineTool.ts"
export { InvalidParams, ToolError, type InvalidParam } from "../../../adapters/packs/author/toolErrors.ts"
