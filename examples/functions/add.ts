/** Defines a tool whose function has the types of its parameters. */
import { defineTool } from "a2c-smcp/computer"
import { z } from "zod"

export const add = defineTool({
  name: "add",
  description: "Adds numbers",
  params: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => a + b
})
