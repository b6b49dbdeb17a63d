import type { ServerConfig } from "../../domain/config/computerConfig.ts"

/** Formats the command or URL of a server without secrets: no arguments, no query, no password. */
export const formatServerLocation = ({ parameters, type }: ServerConfig): string =>
  type === "stdio"
    ? String(parameters["command"])
    : String(parameters["url"])
        .replace(/[?#].*$/s, "")
        .replace(/\/\/[^/]*@/, "//")
