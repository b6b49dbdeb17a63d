import { parseJson } from "../../../domain/json.ts"
import type { PageCallMessage, PageCallRequest } from "../../../domain/page/PageCommand.ts"
import { openStream } from "./api.ts"

/** Splits a stream of texts into lines without their ends. */
async function* linesOf(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader()
  const parts: Array<string> = []
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const [first = "", ...rest] = chunk.value.split("\n")
      parts.push(first)
      for (const line of rest) {
        yield parts.join("")
        parts.length = 0
        parts.push(line)
      }
    }
    yield parts.join("")
  } finally {
    reader.releaseLock()
  }
}

/** Calls a tool and yields the messages of the call. The signal cancels the call. */
export async function* callOfficeTool(request: PageCallRequest, signal: AbortSignal): AsyncGenerator<PageCallMessage> {
  for await (const line of linesOf(await openStream("calls", request, signal))) {
    if (line.trim() !== "") yield parseJson(line) as PageCallMessage
  }
}
