import { Command, Flag } from "effect/cli"
import { agentName, office, serverUrl, tokenFile } from "../sharedFlags.ts"

/** `a2c agent` without its commands: who the Agent is and where, which all of them take. */
export const agentBaseCommand = Command.make("agent").pipe(
  Command.withSharedFlags({
    server: serverUrl,
    office,
    name: agentName,
    tokenFile,
    json: Flag.Boolean("json").pipe(Flag.withDescription("print JSON"), Flag.withDefault(false))
  }),
  Command.withDescription("Act as the Agent of an office: list, call, look, watch")
)
