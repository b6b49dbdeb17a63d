/** A stdio server named `s` of which nothing but its command was said, as a configuration is written. */
export const plainServer = {
  name: "s",
  type: "stdio",
  disabled: false,
  forbidden_tools: [],
  tool_meta: {},
  default_tool_meta: null,
  vrl: null,
  server_parameters: {
    command: "x",
    args: [],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict"
  }
} as const
