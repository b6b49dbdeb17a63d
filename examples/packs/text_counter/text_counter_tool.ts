import { BaseMcpTool } from "a2c-smcp/tools"
import { Schema } from "effect"

const params = Schema.Struct({
  text: Schema.String.annotate({ description: "要统计的文本" })
})

/** White space of Python's `split`: Unicode white space and the ASCII separators. */
// oxlint-disable-next-line no-control-regex -- they are meant
const space = /[\s\u001c-\u001f\u0085]+/u

/** Counts the characters and words of a text. */
export class TextCounterTool extends BaseMcpTool {
  getRouteConfig() {
    return { endpoint: "/tools/text_counter", params }
  }

  listTools() {
    return [{ name: "text_counter", description: "统计文本的字符数和单词数" }]
  }

  callTool(_name: string, { text }: typeof params.Type) {
    const words = text.split(space).filter((word) => word !== "")
    // Code points, not UTF-16 code units: 😀 is one character.
    return `字符数: ${[...text].length}, 单词数: ${words.length}`
  }
}
