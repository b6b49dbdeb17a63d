/** Building blocks of tools, for authors of packs. Imports only `effect`. */
import "./requireNode.ts"
import "../requireEffect.ts"
export {
  type ParamsOf,
  BaseMcpTool,
  type ListedTool,
  type LogFields,
  type ToolReturn,
  type RouteConfig,
  type SnakeRouteConfig,
  type ToolAnnotations,
  type ToolContext,
  type ToolLogger,
  type ToolParams,
  type ToolProgress
} from "../../adapters/packs/author/BaseMcpTool.ts"
export { type DefinedTool, defineTool, type ToolDefinition } from "../../adapters/packs/author/defineTool.ts"
export { InvalidParams, ToolError, type InvalidParam } from "../../adapters/packs/author/toolErrors.ts"
export { FileField, fileParamSchema, isToolFile, type ToolFile } from "../../adapters/packs/author/ToolFile.ts"
