/** A worker that organizes a desktop with the domain alone. */
import { organizeDesktop } from "a2c-smcp/domain"

const { entries } = organizeDesktop(
  [
    { server: "log", uri: "window://com.example.log", contents: [{ text: "All is well" }] },
    { server: "web", uri: "window://com.example.web?fullscreen=1", contents: [{ text: "<html>" }] }
  ],
  undefined,
  ["log"]
)
new BroadcastChannel("desktop").postMessage(entries)
