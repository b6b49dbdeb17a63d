/** Offers a lamp. */
import { joinAsComputer } from "a2c-smcp/computer"

await joinAsComputer({
  url: "http://127.0.0.1:7070",
  office: "team",
  name: "lamp",
  approve: ["switch_lamp"],
  tools: [
    {
      name: "switch_lamp",
      description: "Switches the lamp on or off",
      params: { type: "object", properties: { state: { enum: ["on", "off"] } }, required: ["state"] },
      run: ({ state }) => `The lamp is ${String(state)}`
    }
  ]
})
