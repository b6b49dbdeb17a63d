/** Offers functions of this program to an Agent elsewhere: a tool that asks, and a window. It runs in a browser as well. */
import { joinAsComputer } from "a2c-smcp/computer"
import { connectAgent, runServer } from "a2c-smcp/promise"

await using server = await runServer({ authenticate: "allowAll" })
const place = { url: server.url, office: "team" }

const basket: Array<string> = []

await using shop = await joinAsComputer({
  ...place,
  name: "shop",
  // Rules decide which calls run; other calls would need `confirm`.
  policy: { rules: [{ action: "allow", tool: "add_to_basket" }] },
  tools: [
    {
      name: "add_to_basket",
      description: "Puts a product into the basket",
      params: { type: "object", properties: { product: { type: "string" } }, required: ["product"] },
      run: async ({ product }, { ask, progress }) => {
        progress({ progress: 1, total: 2, message: "asking for the size" })
        const schema = { type: "object", properties: { size: { type: "string", enum: ["S", "M", "L"] } } }
        const answer = await ask({ message: `Which size of ${String(product)}?`, schema })
        const size = answer.action === "accept" ? answer.content?.["size"] : "M"
        basket.push(`${String(product)} (${String(size)})`)
        shop.changed("basket")
        return { products: basket.length }
      }
    }
  ],
  windows: [{ name: "basket", title: "Basket", text: () => basket.join("\n") || "empty" }],
  onInput: ({ input }) => {
    console.log("question:", input.message)
    return { action: "accept", content: { size: "L" } }
  }
})

await using agent = await connectAgent({ ...place, name: "thinker" })
console.log((await agent.getDesktop("shop")).join())
const { structuredContent } = await agent.callTool({ tool: "add_to_basket", params: { product: "shirt" } })
console.log(structuredContent)
console.log((await agent.getDesktop("shop")).join())
