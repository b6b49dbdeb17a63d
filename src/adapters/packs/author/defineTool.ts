import type {
  ArgsOf,
  ListedTool,
  RouteConfig,
  ToolAnnotations,
  ToolContext,
  ToolParams
} from "./BaseMcpTool.ts"

/** A pack that is one tool. */
export interface ToolDefinition<P extends ToolParams> {
  readonly name: string
  readonly description: string
  readonly params: P
  /** Does the work; `callTool` of `BaseMcpTool` says what it may give back. */
  readonly run: (args: ArgsOf<P>, context: ToolContext) => unknown
  /** Path of its endpoint; `/tools/` and its name unless given. */
  readonly endpoint?: string
  /** Parameters come as a form; a parameter that is a file makes it one anyway. */
  readonly useForm?: boolean
  readonly title?: string
  readonly annotations?: ToolAnnotations
}

/** A whole pack, ready to be the default export of its file. */
export interface DefinedTool<P extends ToolParams> {
  readonly getRouteConfig: () => RouteConfig
  readonly listTools: () => ReadonlyArray<ListedTool>
  /** Does the work of the tool, for arguments that are not checked again. */
  readonly callTool: (name: string, args: ArgsOf<P>, context: ToolContext) => unknown
}

/** Makes a pack of one tool: `export default defineTool({ name: "shout", description, params, run })`. */
export const defineTool = <const P extends ToolParams>(definition: ToolDefinition<P>): DefinedTool<P> => {
  const { annotations, description, name, params, title, useForm } = definition
  return {
    getRouteConfig: () => ({
      endpoint: definition.endpoint ?? `/tools/${name}`,
      params,
      toolName: name,
      ...(useForm !== undefined && { useForm })
    }),
    listTools: () => [
      { name, description, ...(title !== undefined && { title }), ...(annotations && { annotations }) }
    ],
    callTool: (_, args, context) => definition.run(args, context)
  }
}
