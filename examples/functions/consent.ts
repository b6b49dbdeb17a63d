/** Decides which calls of a page run. */
import { joinAsComputer } from "a2c-smcp/computer"

await joinAsComputer({
  url: "http://127.0.0.1:7070",
  office: "team",
  name: "page",
  tools: [],
  policy: { rules: [{ action: "deny", tool: "delete_*", reason: "not from an agent" }] },
  approve: ["read_*"],
  // True allows this call. A page shows a dialog.
  confirm: ({ requester, tool }) => requester === "thinker" && tool === "add_to_cart"
})
