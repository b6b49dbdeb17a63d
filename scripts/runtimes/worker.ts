/** Uses the domain in a worker: parses a URI and decodes a message. */
import { Result } from "effect"
import { lineForVersion, parseVersion, parseWindowUri } from "a2c-smcp/domain"

const line = lineForVersion(Result.getOrThrow(parseVersion("0.2.0")))

export default {
  fetch: () =>
    Response.json({
      path: Result.getOrThrow(parseWindowUri("window://com.example.editor/src%2Fmain?priority=80")).path,
      result: Result.getOrThrow(
        line.calls.toolCall.reply.decode({ content: [{ type: "text", text: "hi" }, { type: "hologram" }] })
      )
    })
}
