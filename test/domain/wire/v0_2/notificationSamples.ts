import { Schema } from "effect"

const Name = Schema.Literals(["pc-1", "电脑", "__proto__"])
const Membership = Schema.Struct({ office: Name, role: Schema.Literals(["agent", "computer"]), name: Name })

/** Every kind of notification. */
export const Notifications = Schema.Union([
  Schema.TaggedStruct("Entered", { membership: Membership }),
  Schema.TaggedStruct("Left", { membership: Membership }),
  Schema.TaggedStruct("Updated", {
    part: Schema.Literals(["config", "toolList", "desktop", "finder"]),
    computer: Name
  }),
  Schema.TaggedStruct("Cancelled", { agent: Name, reqId: Name })
])
