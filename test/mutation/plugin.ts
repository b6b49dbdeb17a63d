import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin"
import { reasonToIgnore } from "./messages.ts"

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, "messages", { shouldIgnore: reasonToIgnore })]
