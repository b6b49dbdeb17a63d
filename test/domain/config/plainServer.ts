/** The encoded configuration of a stdio server named `s` with the default settings. */
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
