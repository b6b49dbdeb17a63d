/** Runs a Computer with a stdio MCP server and one of functions, prints their names, and closes them when stdin ends. */
import { once } from "node:events"
import { runComputer } from "a2c-smcp/promise"
import { joinWithFunctions } from "./portable.ts"

const [url = "", name = "", node = ""] = process.argv.slice(2)

const computer = await runComputer({
  url,
  office: "team",
  name,
  config: {
    servers: {
      everything: {
        type: "stdio",
        server_parameters: {
          command: node,
          args: ["node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio"]
        },
        vrl: ".checked = true"
      }
    }
  },
  confirm: ({ params, tool }) => tool !== "echo" || params["message"] !== "no"
})
// Both run in a worker of the Computer: the validation of params, and the VRL script.
const refused = await computer.callTool({ tool: "get-sum", params: { a: "x" } })
const checked = await computer.callTool({ tool: "get-sum", params: { a: 1, b: 2 } })
if (!refused.isError || !String(checked.meta?.["a2c_vrl_transformed"]).includes("checked")) throw new Error("unchecked")
const functions = await joinWithFunctions(url, `${name}-functions`)
console.log(`${name} ${name}-functions`)
await once(process.stdin.resume(), "end")
await functions.close()
await computer.close()
