/** A tool of its own: change it to what you need. Nothing has to be imported to be a pack. */
export class WordCountTool {
  getRouteConfig() {
    return {
      endpoint: "/tools/word_count",
      params: {
        type: "object",
        properties: {
          text: { type: "string", description: "The text" },
          loud: { type: "boolean", description: "Say it in capitals", default: false }
        },
        required: ["text"]
      }
    }
  }

  listTools() {
    return [{ name: "word_count", description: "Says how many characters and words a text has" }]
  }

  callTool(_name: string, { text, loud = false }: { text: string; loud?: boolean }) {
    const words = text.split(/\s+/u).filter((word) => word !== "").length
    const said = `${[...text].length} characters, ${words} words`
    return loud ? said.toUpperCase() : said
  }
}
