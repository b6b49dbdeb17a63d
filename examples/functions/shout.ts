/** Offers a function to an office. */
import { joinAsComputer } from "a2c-smcp/computer"

const params = { type: "object", properties: { text: { type: "string" } } }
await joinAsComputer({
  url: "http://127.0.0.1:7070",
  office: "team",
  name: "caller",
  approve: ["shout"],
  tools: [{ name: "shout", description: "Shouts a text", params, run: ({ text }) => String(text).toUpperCase() }]
})
