import { Duration } from "effect"
import type { Command } from "effect/cli"
import { defaultLineName, lineNames } from "../../../domain/wire/lines.ts"
import { between, setting } from "../flags/setting.ts"

/** The protocol of a member, and how it joins when another one is at its place. */
export const joinFlags = {
  protocol: setting.choice(
    "protocol",
    "protocol line of this member; 'auto' takes the newest one that the Server accepts",
    [...lineNames, "auto"],
    { default: defaultLineName }
  ),
  takeOver: setting.toggle(
    "take-over",
    "replace the current Agent, or the Computer of this name, if it has the same identity: the same subject, or " +
      "without authentication the same name"
  ),
  wait: setting.int("wait", "time to wait while another member is at this place; 0 for no limit", {
    metavar: "SECONDS",
    check: between(0)
  })
}

type JoinOptions = Partial<Command.Command.Config.Infer<typeof joinFlags>>

/** The options of a member for {@link joinFlags}. */
export const joinOptions = ({ protocol = defaultLineName, takeOver = false, wait }: JoinOptions) => ({
  protocol,
  takeOver,
  wait: wait === 0 ? Duration.infinity : Duration.seconds(wait ?? 0)
})
