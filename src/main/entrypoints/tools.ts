/** Building blocks of tools, for authors of packs. Imports only `effect`. */
import "./requireNode.ts"
import "../requireEffect.ts"
export * from "./names/toolNames.ts"
export {
  BaseMcpTool,
  type ListedTool,
  type LogFields,
  type ToolReturn,
  type RouteConfig,
  type SnakeRouteConfig,
  type ToolLogger,
  type ToolProgress
} from "../../adapters/packs/author/BaseMcpTool.ts"
export { FileField, fileParamSchema, isToolFile, type ToolFile } from "../../adapters/packs/author/ToolFile.ts"
