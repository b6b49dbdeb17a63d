import type { ParamsOf, ListedTool, RouteConfig, ToolAnnotations, ToolContext, ToolParams } from "./BaseMcpTool.ts"

/** A tool as a function: of a Computer, a pack, or a published session. */
export interface ToolDefinition<P extends ToolParams> {
  readonly name: string
  readonly description: string
  readonly params: P
  /** The schema of the structured content of its results. */
  readonly output?: ToolParams
  /** Runs the tool; return values are those of `BaseMcpTool.callTool`. */
  readonly run: (params: ParamsOf<P>, context: ToolContext) => unknown
  /** Path of the route; `/tools/` plus the name by default. */
  readonly endpoint?: string
  /** Parameters come as a form; implied by a file parameter. */
  readonly useForm?: boolean
  readonly title?: string
  readonly annotations?: ToolAnnotations
}

/** A tool, and a complete pack for the default export of its file. */
export interface DefinedTool<P extends ToolParams> extends ToolDefinition<P> {
  readonly getRouteConfig: () => RouteConfig
  readonly listTools: () => ReadonlyArray<ListedTool>
  /** Calls the tool without validating the arguments. */
  readonly callTool: (name: string, params: ParamsOf<P>, context: ToolContext) => unknown
}

/** Makes a tool: `defineTool({ name: "shout", description, params, run })`. As a default export it is a pack. */
export const defineTool = <const P extends ToolParams>(definition: ToolDefinition<P>): DefinedTool<P> => {
  const { annotations, description, name, output, params, title, useForm } = definition
  return {
    ...definition,
    getRouteConfig: () => ({
      endpoint: definition.endpoint ?? `/tools/${name}`,
      params,
      toolName: name,
      ...(useForm !== undefined && { useForm })
    }),
    listTools: () => [
      {
        name,
        description,
        ...(title !== undefined && { title }),
        ...(annotations && { annotations }),
        ...(output && { outputSchema: output })
      }
    ],
    callTool: (_, params, context) => definition.run(params, context)
  }
}
