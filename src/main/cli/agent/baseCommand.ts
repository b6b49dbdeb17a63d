import { Command } from "effect/cli"
import { agentFlags } from "./flags.ts"

/** `a2c agent` without its subcommands: the flags that all of them share. */
export const agentBaseCommand = Command.make("agent").pipe(
  Command.withSharedFlags(agentFlags),
  Command.withDescription("Act as the Agent of an office: list, call, read, watch")
)
